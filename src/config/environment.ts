/** What `${NAME}` is looked up in: `process.env`, or a test's own. */
export type Environment = { readonly [name: string]: string | undefined }
