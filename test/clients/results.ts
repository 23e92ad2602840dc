/** One call of a client, as its program prints it in a line of JSON. */
export type Line = {
  readonly client: string
  readonly version: string
  readonly call: string
  readonly ok: boolean
  readonly error?: string
  /** Whether the suite itself skips it. */
  readonly skipped?: boolean
}

/** The cause of a failed call; `ours` until a review records another one. */
export type Fault = 'ours' | 'client' | 'not offered'

/** A reviewed failure. */
export type Known = {
  readonly client: string
  readonly call: RegExp
  /** The client's message has to match too: a different message is a different failure. */
  readonly error: RegExp
  readonly fault: Exclude<Fault, 'ours'>
  readonly why: string
}

export type Failed = Line & { readonly fault: Fault; readonly why: string }

export type Row = {
  readonly client: string
  readonly version: string
  readonly calls: number
  readonly passed: number
  readonly skipped: number
  readonly faults: { readonly [fault in Fault]: number }
}

export type Results = {
  readonly rows: readonly Row[]
  readonly failed: readonly Failed[]
  /** Recorded failures that no longer happen, of the clients that ran. */
  readonly outdated: readonly Known[]
}

/** The calls in a program's output; other lines are passed through. */
export function parseLines(output: string): { readonly calls: readonly Line[]; readonly rest: readonly string[] } {
  const calls: Line[] = []
  const rest: string[] = []
  for (const text of output.split('\n')) {
    const line = parseLine(text)
    if (line) calls.push(line)
    else if (text.trim() !== '') rest.push(text)
  }
  return { calls, rest }
}

function parseLine(text: string): Line | undefined {
  if (!text.startsWith('{')) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { client, version, call, ok } = value as { readonly [name: string]: unknown }
  const isCall = [client, version, call].every(one => typeof one === 'string') && typeof ok === 'boolean'
  return isCall ? (value as Line) : undefined
}

/** Counts by client and version, in the order of their first calls, and classifies the failures. */
export function judge(calls: readonly Line[], known: readonly Known[]): Results {
  const failed = calls.filter(({ ok, skipped }) => !ok && !skipped).map(line => blame(line, known))
  const clients = new Map(calls.map(({ client, version }) => [`${client} ${version}`, { client, version }]))
  const rows = [...clients.values()].map(one => {
    const own = (line: Line): boolean => line.client === one.client && line.version === one.version
    const made = calls.filter(line => own(line) && !line.skipped)
    const count = (fault: Fault): number => failed.filter(line => own(line) && line.fault === fault).length
    return {
      ...one,
      calls: made.length,
      passed: made.filter(({ ok }) => ok).length,
      skipped: calls.filter(line => own(line) && line.skipped).length,
      faults: { ours: count('ours'), client: count('client'), 'not offered': count('not offered') },
    }
  })
  const ran = new Set(calls.map(({ client }) => client))
  const outdated = known.filter(one => ran.has(one.client) && !failed.some(line => fits(one, line)))
  return { rows, failed, outdated }
}

function blame(line: Line, known: readonly Known[]): Failed {
  const found = known.find(one => fits(one, line))
  return { ...line, fault: found?.fault ?? 'ours', why: found?.why ?? 'nobody has looked at it yet' }
}

function fits({ client, call, error }: Known, line: Line): boolean {
  return client === line.client && call.test(line.call) && error.test(line.error ?? '')
}

const heads = ['client', 'version', 'calls', 'passed', 'ours', "the client's", 'not offered', 'left out']

/** The rows for a terminal, or for a page of the documentation: a Markdown table. */
export function writeTable({ rows }: Pick<Results, 'rows'>): string {
  const cells = rows.map(({ client, version, calls, passed, faults, skipped }) => [
    client,
    version,
    ...[calls, passed, faults.ours, faults.client, faults['not offered'], skipped].map(String),
  ])
  const widths = heads.map((head, i) => Math.max(...[head, ...cells.map(row => row[i] ?? '')].map(text => text.length)))
  const write = (row: readonly string[]): string =>
    `| ${row.map((text, i) => (i < 2 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = widths.map((width, i) => (i < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [write(heads), write(rule), ...cells.map(write)].join('\n')
}
