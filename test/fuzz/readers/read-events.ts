/** One record of an event stream. `lines` are its raw lines, for readers that do not follow the standard. */
export type Record = { readonly event: string; readonly data: string; readonly lines: readonly string[] }

/**
 * Reads an event stream by the HTML standard (9.2.6), from the whole text; but also returns a record that the stream's
 * end cuts, since the client has its bytes.
 */
export function readEvents(text: string): readonly Record[] {
  const records: Record[] = []
  let event = ''
  let data: string[] = []
  let lines: string[] = []
  const dispatch = (): void => {
    if (lines.length > 0) records.push({ event, data: data.join('\n'), lines })
    event = ''
    data = []
    lines = []
  }
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)) {
    if (line === '') {
      dispatch()
      continue
    }
    lines.push(line)
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    if (field === 'data') data.push(value)
  }
  dispatch()
  return records
}
