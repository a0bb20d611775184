/** What a failed call or evaluation means. */
export const failurePolicies: readonly string[] = ['Fail', 'Ignore'];

/** Whether rules match requests for other versions of their resources. */
export const matchPolicies: readonly string[] = ['Equivalent', 'Exact'];

/** Whether an object that others have changed is changed again. */
export const reinvocationPolicies: readonly string[] = ['IfNeeded', 'Never'];
