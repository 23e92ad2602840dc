import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { anchorsOf, findDecisions, findIdentityColumns, findReferences } from './references.ts'

const root = resolve(import.meta.dirname, '../..')
const { stdout } = await promisify(execFile)('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
})
const files = stdout.split('\0').filter(file => file !== '')
const pages = new Set(files.filter(file => file.endsWith('.md')))
const read = (file: string) => readFile(join(root, file), 'utf8').catch(() => '')
const sources = files.filter(
  file => /^(?:src|plugins|test|bench|deploy|[^/]+$)/.test(file) && /\.(?:[cm]?[jt]sx?|ya?ml|py|sh|conf)$/.test(file),
)
/** This file contains wrong references on purpose. */
const own = 'test/house/references.test.ts'
const texts = await Promise.all(
  sources.filter(file => file !== own).map(async file => ({ file, text: await read(file) })),
)
const headings = new Map<string, readonly string[]>()
for (const page of pages) headings.set(page, anchorsOf(await read(page)))

/** A page may be named relative to the root or to the referring file: returns the one that exists. */
function pageOf(file: string, name: string): string | undefined {
  return [normalize(name), join(dirname(file), name)].find(path => pages.has(path))
}

/** The faults in the references of a text. */
function faultsOf(file: string, text: string): readonly string[] {
  const dangling = findReferences(text).flatMap(({ line, page, anchor }) => {
    const path = pageOf(file, page)
    if (path === undefined) return [`${file}:${line}: there is no page ${page}`]
    if (anchor === undefined || headings.get(path)?.includes(anchor)) return []
    return [`${file}:${line}: ${page} has no heading #${anchor}`]
  })
  const undecided = findDecisions(text).flatMap(({ line, number }) =>
    [...pages].some(page => page.startsWith(`docs/decisions/${String(number).padStart(4, '0')}-`))
      ? []
      : [`${file}:${line}: there is no decision ${number}`],
  )
  const numbered = findIdentityColumns(text).map(({ line, words }) => `${file}:${line}: '${words}' leads to no page`)
  return [...dangling, ...undecided, ...numbered]
}

t.test('every page, heading and decision that a comment names exists', async t => {
  t.ok(texts.flatMap(({ text }) => findReferences(text)).length > 40)
  t.strictSame(
    texts.flatMap(({ file, text }) => faultsOf(file, text)),
    [],
  )
})

t.test('finds a comment with a broken reference of any kind', async t => {
  const faults: readonly [source: string, fault: RegExp | undefined][] = [
    ['/** Seen (`reference/wire.md` 5). */', /no page reference\/wire\.md/],
    ['/** Seen (`docs/wire.md#nothing`). */', /docs\/wire\.md has no heading #nothing/],
    ['/* a\n * field for field as `contract.md` names it */', /:2: there is no page contract\.md/],
    ['call() // as docs/absent.md says', /no page docs\/absent\.md/],
    ['key: 1 # see docs/absent.md', /no page docs\/absent\.md/],
    ['/** What counts (decision 98). */', /no decision 98/],
    ['/** What counts (decisions 7 to 99). */', /no decision 99/],
    ["t.test('never free [decision 98]')", /no decision 98/],
    ['/** Tiers (requirement 4.4.2). */', /'requirement 4\.4\.2' leads to no page/],
    ['/** Kept (fault table, row 20), (fault table 20). */', /'fault table 20'/],
    ['/** Seen (`docs/wire.md#errors`), (decision 3), (`docs/decisions/0003-native-styles.md`). */', undefined],
    ["open('absent.md') // a string is no comment", undefined],
    ['/** One of two: README.md and ../ratelimit/README.md. */', undefined],
  ]
  for (const [source, fault] of faults) {
    const found = faultsOf('plugins/auth/plugin.ts', source).join('\n')
    if (fault === undefined) t.equal(found, '', source)
    else t.match(found, fault, source)
  }
})
