/** A scheduled event; `Owner` is the process that it belongs to. */
export type Happening<Owner = unknown> = {
  at: number
  tie: number
  readonly seq: number
  readonly label: string
  readonly process: Owner | undefined
  /** Whether the play may end without it. */
  readonly run: () => void
  cancelled: boolean
}
