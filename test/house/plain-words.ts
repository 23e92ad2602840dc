import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const boundsFile = join(import.meta.dirname, 'plain-words.json')

/** Words that make a sentence hard to read, and their replacements. */
const words: readonly (readonly [word: string, better: string])[] = [
  ['tell|tells|told|telling', 'return, report, show'],
  ['ask|asks|asked|asking', 'request, call, send'],
  ['stand|stands|stood|standing', 'is, is defined in, status'],
  ['whoever|somebody|anybody', 'the client, the caller, a person'],
  ['nobody', 'no one, no client'],
  ['anew', 'again'],
  ['beside', 'next to, with'],
  ['behind', 'after, following'],
  ['vouch|vouches|vouched|vouching', 'verify'],
  ['bear|bears|bore|borne|bearing', 'carry, accept'],
  ['thereof|therein', 'of it, in it'],
]
/** Words of earlier names: `src` and `plugins` use those of the glossary (docs/architecture.md). */
const retired: ReadonlySet<string> = new Set(
  'told tell beside spell dearest lone roster courier standing asker overheard untaken vouched door dialect judge'.split(
    ' ',
  ),
)
const exported = /^export (?:default )?(?:async )?(?:abstract )?(?:function\*?|const|class|type|interface) (\w+)/gm
const pattern = new RegExp(`\\b(${words.map(([word]) => word).join('|')})\\b`, 'gi')
const comment = /^\s*(?:\/\/|\/\*|\*)|\s\/\/ /
/** A literal in code; a literal with a blank is a message, or SQL. */
const literal = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
const sql = /\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|REFERENCES)\b/

export type Place = { readonly file: string; readonly line: number; readonly word: string; readonly better: string }
export type Folder = { readonly lines: number; readonly found: readonly Place[] }

/** What operators copy: configurations, alerts and the steps of the image. */
const deployed = /^(?:deploy\/|Dockerfile$|gateway\.yaml$)/

/**
 * The words in comments and messages of code, in prose of pages, in what operators copy, and in English console texts,
 * by folder.
 */
export function findWords(): ReadonlyMap<string, Folder> {
  const places = ['src', 'plugins', 'docs', 'README.md', 'deploy', 'Dockerfile', 'gateway.yaml']
  const listed = execFileSync('git', ['ls-files', '-z', ...places], { cwd: root })
  const files = listed
    .toString()
    .split('\0')
    .filter(file => /\.(?:tsx?|md)$/.test(file) || deployed.test(file) || file === 'src/console/words/en.json')
  const folders = new Map<string, { lines: number; found: Place[] }>()
  for (const file of files) {
    const name = folderOf(file)
    const folder = folders.get(name) ?? { lines: 0, found: [] }
    folders.set(name, folder)
    const lines = readFileSync(join(root, file), 'utf8').split('\n')
    folder.lines += lines.length
    for (const [i, text] of proseOf(file, lines).entries())
      for (const [word] of text.matchAll(pattern))
        folder.found.push({ file, line: i + 1, word, better: betterOf(word) })
  }
  return folders
}

/** Each folder of `src` has its own limit, so that the rate of a better folder does not cover for a worse one. */
function folderOf(file: string): string {
  const [top = '', second = '', third] = file.split('/')
  if (deployed.test(file)) return 'deploy'
  if (top === 'docs') return second === 'decisions' ? 'docs/decisions' : 'docs'
  if (file === 'README.md') return 'README.md'
  if (file.endsWith('.json')) return 'console texts'
  return third === undefined ? top : `${top}/${second}`
}

/** The prose of each line; empty for a line without prose. */
function proseOf(file: string, lines: readonly string[]): readonly string[] {
  if (deployed.test(file)) return lines
  if (file.endsWith('.json')) return lines.map(line => /: "(.*)",?$/.exec(line)?.[1] ?? '')
  if (!file.endsWith('.md')) return lines.map(line => (comment.test(line) ? line : messagesOf(line)))
  let isCode = false
  return lines.map(line => {
    if (line.startsWith('```')) isCode = !isCode
    return isCode ? '' : line.replaceAll(/`[^`]*`/g, '')
  })
}

/** The messages in a line of code, without their placeholders. */
function messagesOf(line: string): string {
  const literals = line.match(literal)?.filter(one => one.trim().includes(' ') && !sql.test(one)) ?? []
  return literals.join(' ').replaceAll(/\$\{[^}]*\}/g, '')
}

/**
 * Names of files and exports with a word that the field does not use for it. Deprecated names and columns of the
 * database keep theirs.
 */
export function findRetiredNames(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-z', 'src/**.ts', 'src/**.tsx', 'plugins/**.ts'], { cwd: root })
  const files = listed
    .toString()
    .split('\0')
    .filter(file => file !== '' && !/\/migrations\/|\/deprecated\.ts$/.test(file))
  return files.flatMap(file => {
    const text = readFileSync(join(root, file), 'utf8')
    const names = [...text.matchAll(exported)].map(([, name = '']) => name)
    return [file, ...names].filter(isRetired).map(name => `${file}: ${name}`)
  })
}

/** Whether a name in any case contains a retired word. */
export function isRetired(name: string): boolean {
  return (name.match(/[A-Z]?[a-z]+/g) ?? []).some(part => retired.has(part.toLowerCase()))
}

function betterOf(found: string): string {
  return words.find(([word]) => new RegExp(`^(?:${word})$`, 'i').test(found))?.[1] ?? ''
}

/** The rate per 1,000 lines, rounded up to a tenth. */
export function rateOf({ lines, found }: Folder): number {
  return Math.ceil((found.length * 10_000) / lines) / 10
}

/** The maximum per 1,000 lines, by folder. Limits only go down. */
export function readBounds(): { readonly [folder: string]: number } {
  return JSON.parse(readFileSync(boundsFile, 'utf8')) as { readonly [folder: string]: number }
}

// `node test/house/plain-words.ts` lowers each limit to the current rate.
if (process.argv[1] === import.meta.filename) {
  const bounds = readBounds()
  const lower = [...findWords()].map(([name, folder]) => [name, Math.min(bounds[name] ?? Infinity, rateOf(folder))])
  writeFileSync(boundsFile, `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`)
}
