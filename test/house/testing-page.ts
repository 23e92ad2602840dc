import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Reached } from '../simulate/coverage.ts'

// Writes the figures of docs/testing.md: `node test/house/testing-page.ts FIGURES [POWER] [MUTATION…]`, from what
// `npm run simulate -- --seeds N --coverage --json FIGURES`, the last line of `npm run simulate -- --power N`, and
// `npm run mutate -- FILE --json MUTATION` wrote.

type Figures = {
  readonly seeds: number
  readonly alarmed: number
  readonly requests: number
  readonly happenings: number
  readonly simulatedDays: number
  readonly faults: { readonly [name: string]: number }
  readonly coverage?: { readonly [part: string]: Reached }
}
type Power = {
  readonly losses: number
  readonly atStake: number
  readonly acknowledged: number
  readonly problems: number
}
type Mutation = {
  readonly file: string
  readonly mutants: number
  readonly tried: number
  readonly killed: number
  readonly timedOut: number
  readonly survived: number
  readonly score: number
}

const page = resolve(import.meta.dirname, '../../docs/testing.md')
const [begin, end] = ['<!-- figures: begin -->', '<!-- figures: end -->']
const [figuresFile, powerFile, ...mutationFiles] = process.argv.slice(2)
if (figuresFile === undefined) throw new Error('testing-page.ts FIGURES [POWER] [MUTATION…]')

const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' })
const text = readFileSync(page, 'utf8')
const [from, to] = [text.indexOf(begin), text.indexOf(end)]
if (from < 0 || to < from) throw new Error(`${page} has no place for figures`)
const figures = [
  `Measured on ${new Date().toISOString().slice(0, 10)}, commit ${commit.trim()}.`,
  describeSeeds(read(figuresFile) as Figures),
  powerFile === undefined ? '' : describePower(read(powerFile) as Power),
  describeMutations(mutationFiles.map(file => read(file) as Mutation)),
]
writeFileSync(page, `${text.slice(0, from)}${begin}\n${figures.filter(Boolean).join('\n\n')}\n${text.slice(to)}`)

function describeSeeds({ seeds, alarmed, requests, happenings, simulatedDays, faults, coverage }: Figures): string {
  const rows = Object.entries(faults).sort((a, b) => b[1] - a[1])
  const table = rows.map(([name, times]) => `| ${name.replace('fault: ', '')} | ${times} |`)
  const reached = Object.entries(coverage ?? {}).map(
    ([part, { lines, linesAll, branches, branchesAll }]) =>
      `| \`${part}\` | ${percent(lines, linesAll)} of ${linesAll} | ${percent(branches, branchesAll)} of ${branchesAll} |`,
  )
  return [
    `${seeds} seeds, ${alarmed} with alarms: ${requests} requests, ${happenings} events, ${simulatedDays} simulated days.`,
    ['| fault | times |', '| --- | --- |', ...table].join('\n'),
    reached.length === 0
      ? ''
      : ['| reached by these seeds only | lines | branches |', '| --- | --- | --- |', ...reached].join('\n'),
  ]
    .filter(Boolean)
    .join('\n\n')
}

function describePower({ losses, atStake, acknowledged, problems }: Power): string {
  return `${losses} power failures, ${atStake} of them with unsynced data; ${acknowledged} acknowledged charges were checked afterwards, and ${problems} problems found.`
}

function describeMutations(mutations: readonly Mutation[]): string {
  if (mutations.length === 0) return ''
  const rows = mutations.map(
    ({ file, mutants, tried, killed, timedOut, survived, score }) =>
      `| \`${file}\` | ${tried} of ${mutants} | ${killed} | ${timedOut} | ${survived} | ${score} % |`,
  )
  return [
    '| file | tried | killed | timed out | survived | score |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function percent(some: number, all: number): string {
  return `${Math.round((100 * some) / Math.max(1, all))} %`
}
