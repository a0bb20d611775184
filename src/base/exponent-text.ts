/** A number with an exponent of at least two digits, as Go writes it: `1.5e-07`. */
export const exponentText = (value: number): string => value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
