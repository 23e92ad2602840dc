import { deflateSync, inflateSync } from 'node:zlib'
import {
  type ConfigHistory,
  configHows,
  type ConfigTaken,
  type StoredConfig,
  type KeptText,
  type ConfigSettings,
} from '../domain/index.ts'
import { ask, type QueryProgram, type Row } from './query.ts'
import { text, textOrNull, whole } from './rows.ts'

/** The number of configurations that are kept: more than a year, with a change a day. */
const keptMax = 500
const rowsMax = 500
/** The changes that a list shows. */
const changesMax = 100
/** The limit of a decompressed body in bytes: no larger body was written here. */
const bodyBytesMax = 64 * 1024 * 1024

/** A row to write, its texts and settings compressed. */
export type PackedConfig = Omit<StoredConfig, 'id' | 'files' | 'settings'> & { readonly body: Uint8Array }

/** The content of a row's body. */
type Body = { readonly files: readonly KeptText[]; readonly settings: ConfigSettings }

const columns = 'number, at, revision, mark, how, actor, version, changes, change_count'

export function* newestConfig(): QueryProgram<Pick<StoredConfig, 'id' | 'mark'> | undefined> {
  const [row] = yield ask('SELECT number, mark FROM config_history ORDER BY number DESC LIMIT 1')
  return row && { id: whole(row, 'number'), mark: text(row, 'mark') }
}

/**
 * `before`: the number of the previous change. Of two simultaneous changes one is refused. @returns whether it was
 * stored
 */
export function* keepConfig({
  taken,
  after,
}: {
  readonly taken: PackedConfig
  readonly after: number
}): QueryProgram<boolean> {
  const kept = yield ask(
    `INSERT INTO config_history (${columns}, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (number) DO NOTHING RETURNING number`,
    after + 1,
    taken.at,
    taken.revision,
    taken.mark,
    taken.how,
    taken.by,
    taken.version,
    JSON.stringify(taken.changes.slice(0, changesMax)),
    taken.changeCount,
    taken.body,
  )
  if (kept.length === 0) return false
  yield ask('DELETE FROM config_history WHERE number <= ?', after + 1 - keptMax)
  return true
}

export function* listConfigs({
  limit,
  before = Number.MAX_SAFE_INTEGER,
}: {
  readonly limit: number
  readonly before?: number
}): QueryProgram<readonly ConfigTaken[]> {
  const rows = yield ask(
    `SELECT ${columns} FROM config_history WHERE number < ? ORDER BY number DESC LIMIT ?`,
    before,
    Math.min(Math.max(limit, 0), rowsMax),
  )
  return rows.map(toTaken)
}

/** The configuration with its body as stored. */
export function* findConfig(id: number): QueryProgram<(PackedConfig & { readonly id: number }) | undefined> {
  const [row] = yield ask(`SELECT ${columns}, body FROM config_history WHERE number = ?`, id)
  return row && { ...toTaken(row), mark: text(row, 'mark'), body: row['body'] as Uint8Array }
}

function toTaken(row: Row): ConfigTaken {
  return {
    id: whole(row, 'number'),
    at: whole(row, 'at'),
    revision: text(row, 'revision'),
    how: configHows.find(how => how === text(row, 'how')) ?? 'program',
    by: textOrNull(row, 'actor'),
    version: text(row, 'version'),
    changes: JSON.parse(text(row, 'changes')) as readonly string[],
    changeCount: whole(row, 'change_count'),
  }
}

type Ways = {
  readonly newest: () => ReturnType<ConfigHistory['newest']>
  readonly list: (filter: Parameters<ConfigHistory['list']>[0]) => ReturnType<ConfigHistory['list']>
  readonly keep: (given: Parameters<typeof keepConfig>[0]) => Promise<boolean>
  readonly find: (id: number) => Promise<(PackedConfig & { readonly id: number }) | undefined>
}

/** Bodies are compressed to a tenth when written, and decompressed when read. */
export function createConfigHistory({ newest, list, keep, find }: Ways): ConfigHistory {
  return {
    newest,
    list,
    keep({ files, settings, ...taken }, after) {
      const body: Body = { files, settings }
      // A view of a larger buffer would send all of that buffer to the thread.
      const packed = Uint8Array.from(deflateSync(JSON.stringify(body)))
      return keep({ taken: { ...taken, body: packed }, after })
    },
    async find(id) {
      const found = await find(id)
      if (!found) return undefined
      const { body, ...taken } = found
      const unpacked = inflateSync(body, { maxOutputLength: bodyBytesMax })
      return { ...taken, ...(JSON.parse(unpacked.toString('utf8')) as Body) }
    },
  }
}
