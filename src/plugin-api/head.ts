/** The head of a request as it came, after the front filter. Header names are lower-case. */
export type Head = {
  readonly method: string
  /** Path only, percent-encoding as sent. */
  readonly path: string
  /** Query without `?`; a key in it has been taken out. */
  readonly query: string
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  /** The caller's address. */
  readonly remote: string
}
