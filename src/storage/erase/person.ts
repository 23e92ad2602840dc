/** The person to erase. Only the name is personal. */
export type Person = {
  readonly name: string
  /** The pseudonym. */
  readonly pseudonym: string
  /** The ids of their keys. The ids stay: the ledger's entries name them. */
  readonly keys: ReadonlySet<string>
}
