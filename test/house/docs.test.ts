import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { consoleErrors } from '../../src/admin/errors.ts'
import english from '../../src/console/words/en.json' with { type: 'json' }
import { eventKinds } from '../../src/domain/index.ts'
import { loadConfig } from '../../src/index.ts'
import { runCommand } from '../harness/commands.ts'
import { commandsOf, findCommandFault } from './documented-commands.ts'
import { anchorsOf } from './references.ts'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
const { stdout } = await run('git', ['ls-files', '-z'], { cwd: root })
/** The files of a clone. */
const tracked = stdout.split('\0').filter(file => file !== '')
const folders = new Set(tracked.flatMap(file => file.split('/').map((_, i, names) => names.slice(0, i).join('/'))))
const pages = tracked.filter(file => file.endsWith('.md') && !file.startsWith('test/'))
/** Empty for a page that is being rewritten right now. */
const read = (file: string) => readFile(join(root, file), 'utf8').catch(() => '')

const withoutCode = (text: string): string => text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '')

t.test('every relative link of every page has a target', async t => {
  for (const page of pages) {
    for (const [, target = ''] of withoutCode(await read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/i.test(target)) continue
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      const isFile = tracked.includes(file)
      t.ok(isFile || folders.has(file.replace(/\/$/, '')), `${page} → ${target}`)
      if (anchor !== undefined && isFile) t.ok(anchorsOf(await read(file)).includes(anchor), `${page} → ${target}`)
    }
  }
})

/** The code names in these rows. */
const named = (rows: string): ReadonlySet<string> =>
  new Set([...rows.matchAll(/`([a-z_]+(?:\.[a-z_]+)?)`/g)].map(([, name = '']) => name))

t.test('the pages list exactly the existing events, errors and audit actions', async t => {
  const kinds = [...(await read('docs/events.md')).matchAll(/^\| `([a-z_]+\.[a-z_]+)` \|/gm)].map(
    ([, kind = '']) => kind,
  )
  t.strictSame(kinds.toSorted(), eventKinds.toSorted())
  const page = await read('docs/console.md')
  const rows = (heading: string) =>
    page
      .split(/^## /m)
      .find(part => part.startsWith(heading))
      ?.match(/^\|.*$/gm) ?? []
  // `invalid` has a table of its own: its texts are reasons.
  const codes = rows('Console API').map(row => row.split('|')[1] ?? '')
  t.strictSame([...named(codes.join(' '))].toSorted(), ['invalid', ...Object.keys(consoleErrors)].toSorted())
  const traces = named(rows('Audit log').join(' '))
  const actions = Object.keys(english).flatMap(word => /^action\.(.+)/.exec(word)?.[1] ?? [])
  t.strictSame([...traces].toSorted(), actions.toSorted())
})

t.test('a line number of gateway.yaml on a page is that of its model', async t => {
  const lines = (await read('gateway.yaml')).split('\n')
  for (const page of ['README.md', 'README.zh.md', 'docs/first-five-minutes.md']) {
    const shown = [...(await read(page)).matchAll(/gateway\.yaml:(\d+)/g)]
    t.ok(shown.length > 0, `${page} shows one`)
    for (const [place, line] of shown)
      t.match(lines[Number(line) - 1], /^  (?:alpha|beta)-\S+: \{ family/, `${page}: ${place}`)
  }
})

t.test('an example of models with their families is valid next to the shipped configuration', async t => {
  const env = { GAMMA_KEY: 'k' }
  const shipped = (await read('gateway.yaml')).replaceAll(/^ {2}text:/gm, '  openai: { url: "simulator:text" }\n$&')
  let count = 0
  for (const page of ['README.md', 'README.zh.md', 'docs/price-rules.md'])
    for (const [, text = ''] of (await read(page)).matchAll(/^```yaml\n([^]*?)^```/gm)) {
      const parts = { [resolve('example.yaml')]: text.replace('upstream: google', 'upstream: text') }
      // A family of the shipped file cannot be set twice.
      if (/^ {2}chat:/m.test(text)) continue
      const loaded = await loadConfig({ file: 'gateway.yaml', text: `${shipped}include: [example.yaml]\n`, parts }, env)
      t.same(loaded.ok ? [] : loaded.findings, [], `${page}: ${text.slice(0, 40)}`)
      count++
    }
  t.ok(count >= 5, `${count} examples`)
})

t.test('every command line of a page has known options, allowed values and no argument too many', async t => {
  t.match(findCommandFault(['keys', 'create', '--nmae', 'x']), 'unknown option --nmae')
  t.match(findCommandFault(['usage', '--by', 'colour']), 'Allowed choices are')
  t.match(findCommandFault(['keys', 'show', 'a', 'b']), 'too many arguments')
  t.match(findCommandFault(['keys', 'creat']), 'unknown command creat')
  let count = 0
  for (const page of pages.filter(page => page !== 'CHANGELOG.md'))
    for (const words of commandsOf(await read(page))) {
      t.equal(findCommandFault(words), undefined, `${page}: tollgate ${words.join(' ')}`)
      count++
    }
  t.ok(count > 300, `${count} command lines`)
})

t.test('every command that a page mentions exists', async t => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: { readonly [name: string]: string } }
  const help = new Map<string, Promise<ReadonlySet<string>>>()
  /** The subcommands of a command: `''` has `keys`, `keys` has `create`. */
  const below = (command: string): Promise<ReadonlySet<string>> => {
    const known = help.get(command)
    if (known) return known
    const words = [...command.split(' ').filter(word => word !== ''), '--help']
    const pending = runCommand({ env: process.env }, words).then(({ stdout }) => {
      const [, listed = ''] = /^Commands:\n([^]*?)(?:\n\n|$(?![^]))/m.exec(stdout) ?? []
      return new Set([...listed.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name))
    })
    help.set(command, pending)
    return pending
  }
  for (const page of pages) {
    if (page === 'CHANGELOG.md') continue
    const text = await read(page)
    for (const [, name = ''] of text.matchAll(/npm run (?:-s |--silent )?([\w:-]+)/g))
      t.ok(name in scripts, `${page}: npm run ${name}`)
    const code = [...text.matchAll(/^```(?:sh|console)\n([^]*?)^```|`([^`\n]+)`/gm)].map(
      ([, block, span]) => block ?? span ?? '',
    )
    for (const [, first = '', second] of code
      .join('\n')
      .matchAll(/(?:^|npx |npm run -s |\$ |&& |\()tollgate(?: --)? ([a-z]+)(?: ([a-z]+)\b(?!\.))?/gm)) {
      const known = await below('')
      t.ok(known.has(first), `${page}: tollgate ${first}`)
      if (!known.has(first) || second === undefined) continue
      const more = await below(first)
      if (more.size > 1) t.ok(more.has(second), `${page}: tollgate ${first} ${second}`)
    }
  }
})

/** Sentences in code spans are messages. A name in capitals, a number N and … are placeholders. */
function messagesIn(text: string): readonly string[] {
  const spans = [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, span = '']) =>
    span.replaceAll(/\n\s*/g, ' '),
  )
  const sentence = /^(?:… |[A-Z]+ )?[a-z'’]+(?:[,;:]? (?:[a-z'’][a-z'’-]*|[A-Z]+|…))+[.:…]*$/
  const command = /^(?:tollgate|docker|kubectl|promtool|git|npm|npx|node|keys|ledger|users) /
  const lines = [...text.matchAll(/^\d\d:\d\d:\d\d\.\d{3} (?:info|warn|error) +(.+?) [a-z_]+=/gm)]
  return [
    ...spans.filter(span => span.split(' ').length > 2 && sentence.test(span) && !command.test(span)),
    ...lines.map(([, message = '']) => message),
  ]
}

t.test('every message that a page quotes exists', async t => {
  const files = tracked.filter(file => /^(?:src|plugins)\/.*\.c?tsx?$|^src\/.*\.cjs$/.test(file))
  const sources = (await Promise.all(files.map(read))).join('\n')
  const isKnown = (message: string): boolean =>
    message
      .split(/…|\b[A-Z]{2,}\b|\bN\b/)
      .map(part => part.replaceAll(/^[:;, ]+|[:;, ]+$/g, ''))
      .every(part => sources.includes(part))
  const quoted: string[] = []
  for (const page of pages) {
    if (page === 'CHANGELOG.md') continue
    const messages = messagesIn(await read(page))
    quoted.push(...messages)
    for (const message of messages) t.ok(isKnown(message), `${page}: ${message}`)
  }
  t.ok(quoted.length > 15, `${quoted.length} messages`)
  const samples = 'The log has `an event was given\nup`; run `keys create --budget`, `ledger resolve ID`.\n'
  t.strictSame(messagesIn(samples), ['an event was given up'])
  t.notOk(isKnown('an event was given up'), 'a message that no code has is found')
  t.ok(isKnown('the storage cannot be written: FILE: …'))
})

t.test('README.md and README.zh.md link to each other, and have the same headings and code', async t => {
  const [english, chinese] = await Promise.all([read('README.md'), read('README.zh.md')])
  t.match(english, '(README.zh.md)')
  t.match(chinese, '(README.md)')
  const levels = (text: string) => [...text.matchAll(/^(#+) /gm)].map(([, marks]) => marks)
  t.strictSame(levels(chinese), levels(english))
  const blocks = (text: string) =>
    [...text.matchAll(/^```\w*\n([^]*?)^```/gm)].map(([, code = '']) => code.replaceAll(/ +#.*$/gm, ''))
  t.strictSame(blocks(chinese), blocks(english))
  const links = (text: string) =>
    [...withoutCode(text).matchAll(/\]\(([^)]+)\)/g)].flatMap(([, to = '']) => (to.startsWith('README') ? [] : [to]))
  t.strictSame(links(chinese), links(english))
})
