/** The head of a request as received, after the front filter. Header names are lower-case. */
export type Head = {
  readonly method: string
  /** Only the path, with its percent-encoding as sent. */
  readonly path: string
  /** The query without `?`. A key in the query has been removed. */
  readonly query: string
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  /** The client's address. */
  readonly remote: string
}
