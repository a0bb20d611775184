/** The release of the published interface (spec section 9): what is hidden or removed by then is so here. */
export const publishedRelease = '1.32';
