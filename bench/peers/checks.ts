// Checks a peer's response and its record. Pure functions, so that tests can cover each case.

/** A response as a client receives it. */
export type Response = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer
}

export type BodyCheck = {
  /** `same bytes`; `same content`: other bytes, with the same texts, images and counts; or what differs. */
  readonly body: string
  /** A header that names a cost above nothing, if there is one. */
  readonly costHeader: string | null
}

/** Compares a response through a peer with the upstream's own. */
export function checkBody(direct: Response, through: Response): BodyCheck {
  const costHeader = Object.entries(through.headers).find(
    ([name, value]) => /cost/i.test(name) && Number(value) > 0,
  )?.[0]
  return { body: compare(direct, through), costHeader: costHeader ?? null }
}

function compare(direct: Response, through: Response): string {
  if (through.status !== 200) return `failed with ${through.status}`
  if (direct.body.equals(through.body)) return 'same bytes'
  const [mine, theirs] = [contentOf(direct.body), contentOf(through.body)]
  if (theirs === undefined) return 'differs: neither JSON nor events'
  const parts = Object.keys(mine ?? {}) as (keyof Content)[]
  const different = parts.filter(part => mine?.[part] !== theirs[part])
  if (different.length > 0) return `differs: ${different.join(', ')}`
  return `same content, other bytes (${direct.body.length} → ${through.body.length})`
}

type Content = { readonly text: string; readonly images: string; readonly usage: string }

/** The content for a client: the text, the images and the counts of a JSON response or of events. */
function contentOf(body: Buffer): Content | undefined {
  const text = body.toString()
  try {
    const isEvents = text.startsWith('data:')
    const each = isEvents
      ? text.split('\n').flatMap(line => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Answer] : []))
      : [JSON.parse(text) as Answer]
    const choices = each.flatMap(({ choices: all }) => all ?? [])
    const usage = each.findLast(one => one.usage)?.usage
    return {
      text: choices.map(({ message, delta }) => message?.content ?? delta?.content ?? '').join(''),
      images: each.flatMap(({ data }) => data?.map(({ b64_json: image }) => image ?? '') ?? []).join('\n'),
      usage: `${usage?.prompt_tokens}, ${usage?.completion_tokens}`,
    }
  } catch {
    return undefined
  }
}

type Answer = {
  readonly choices?: readonly {
    readonly message?: { readonly content?: string }
    readonly delta?: { readonly content?: string | null }
  }[]
  readonly data?: readonly { readonly b64_json?: string }[]
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null
}

/** The rows of a record, compared with the responses. */
export type RecordCheck = {
  /** Responses that a client has received completely. */
  readonly answered: number
  /** Rows added for them; null if it keeps no record. */
  readonly rows: number | null
  /** Requests that the end of a timed run cut off: they may have a row. */
  readonly cutOffAtMost: number
}

/** `no record`, `complete`, or how many rows are missing or too many. */
export function judgeRecord({ answered, rows, cutOffAtMost }: RecordCheck): string {
  if (rows === null) return 'no record'
  if (rows < answered) return `${answered - rows} of ${answered} rows lost`
  if (rows > answered + cutOffAtMost) return `${rows - answered} rows more than ${answered} responses`
  const more = rows === answered ? '' : `, and ${rows - answered} of cut-off requests`
  return `complete: ${answered} rows${more}`
}

/** Why a command failed, by what it printed: its lines that name an error, or its last ones, as one short line. */
export function lastWords(said: string): string {
  const lines = said
    .split('\n')
    .flatMap(line => (/^npm (?:notice|error A complete log)/.test(line) ? [] : line.trim() || []))
  const errors = lines.filter(line => /\b(?:error|failed|forbidden|not found|not available|could not)\b/i.test(line))
  const words = (errors.length > 0 ? errors.slice(0, 2) : lines.slice(-3))
    .join(' ')
    .replaceAll(/https?:\/\/\S+/g, '…')
    .replaceAll(/\s+/g, ' ')
  return words.length > 300 ? `${words.slice(0, 299)}…` : words || 'without a word'
}
