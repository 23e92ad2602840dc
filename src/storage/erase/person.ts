/** Who is erased. Nothing of this is a secret of theirs but the name. */
export type Person = {
  readonly name: string
  /** What they are called instead. */
  readonly pseudonym: string
  /** The ids of their keys, which stay: the ledger's entries name them. */
  readonly keys: ReadonlySet<string>
}
