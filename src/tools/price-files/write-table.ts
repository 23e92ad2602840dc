import { createHash } from 'node:crypto'
import type { TableRow } from '../../domain/index.ts'
import { conditionKeys, writePrices } from '../import/write-prices.ts'
import { writeMap, writeScalar } from '../import/yaml-words.ts'

type Table = {
  readonly source: string
  readonly asOf: string
  /** The digest of the source. */
  readonly digest: string
  readonly currency: string
  readonly rows: readonly TableRow[]
}

/** The origin of a file: written by an import and unchanged, edited since, or foreign. */
export type Ownership = 'own' | 'changed' | 'foreign'

const mark = '# Written by tollgate prices import; what follows has the sha256 '
const advice = '# The next import overwrites it: put your own prices in a table before it.'

/** Writes a file of prices: the same rows give the same bytes. */
export function writeTable({ source, asOf, digest, currency, rows }: Table): string {
  const head = [
    advice,
    'version: 1',
    `source: ${writeScalar(source)}`,
    `as_of: ${asOf}`,
    `digest: ${JSON.stringify(digest)}`,
    `currency: ${currency}`,
    rows.length > 0 ? 'models:' : 'models: {}',
  ]
  const body = `${[...head, ...rows.map(writeRow)].join('\n')}\n`
  return `${mark}${digestOf(body)}\n${body}`
}

/** Whether an import may overwrite a file. */
export function ownershipOf(text: string): Ownership {
  // Version control may convert the line ends.
  const plain = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const end = plain.indexOf('\n')
  if (!plain.startsWith(mark) || end === -1) return 'foreign'
  return plain.slice(mark.length, end).trim() === digestOf(plain.slice(end + 1)) ? 'own' : 'changed'
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function writeRow(row: TableRow): string {
  const { id, prices, free, mode, provider, ends, unmapped } = row
  const fields = writeMap([
    ['prices', free === true ? undefined : writePrices(Object.entries(prices))],
    ...conditionKeys(row),
    ['price', free === true ? 'free' : undefined],
    ['mode', mode === undefined ? undefined : writeScalar(mode)],
    ['provider', provider === undefined ? undefined : writeScalar(provider)],
    ['ends', ends],
    ['unmapped', unmapped === undefined ? undefined : `[${unmapped.map(writeScalar).join(', ')}]`],
  ])
  return `  ${writeScalar(id)}: ${fields}`
}
