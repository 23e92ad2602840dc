/** One thing that was looked at. */
export type Checked = {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly text: string
  /** What to do about it. */
  readonly remedy?: string
}
