/** The result of one check. */
export type Checked = {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly text: string
  /** How to solve the problem. */
  readonly remedy?: string
}
