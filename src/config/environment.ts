/** The variables for `${NAME}`: `process.env`, or the variables of a test. */
export type Environment = { readonly [name: string]: string | undefined }
