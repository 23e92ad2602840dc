/** Something that is due; `Owner` is the process that it is due for. */
export type Happening<Owner = unknown> = {
  at: number
  tie: number
  readonly seq: number
  readonly label: string
  readonly process: Owner | undefined
  /** Nothing that has to come in the end waits for it. */
  readonly run: () => void
  cancelled: boolean
}
