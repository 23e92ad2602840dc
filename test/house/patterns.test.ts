import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { attacksOn, textOf } from './patterns/attacks.ts'
import { collectPatterns, readPatterns } from './patterns/collect.ts'
import { findGrowth } from './patterns/judge-growth.ts'
import { CountedPattern, type Pattern } from './patterns/steps.ts'

const root = resolve(import.meta.dirname, '../..')
/** Browser code is left out: it reads only what its own gateway sends. */
const files = globSync('{src,plugins}/**/*.{ts,cjs}', { cwd: root })
  .filter(file => !file.startsWith('src/console/') || file === 'src/console/build.ts')
  .toSorted()
const all = files.map(file => collectPatterns(root, file))
const patterns = all.flatMap(({ patterns }) => patterns)
const made = all.flatMap(({ made }) => made)

type Bounded = { readonly file: string; readonly pattern: RegExp; readonly bound: string }

/** Patterns that may take more than linear time, because no untrusted party controls the length of their text. */
const bounded: readonly Bounded[] = [
  {
    file: 'src/config/find-key.ts',
    pattern: /\[["']?([^\]"']*)["']?\]/g,
    bound: 'a key that a person names on a command line, or one of our own table: one argument',
  },
  {
    file: 'src/storage/postgres/translate.ts',
    pattern:
      /^CREATE TRIGGER (\w+) ((?:BEFORE|AFTER) (?:INSERT|DELETE|UPDATE)(?: OF [\w\s,]+?)?)\s+ON (\S+)\s+(?:WHEN ([\s\S]+?)\s+)?BEGIN\s+([\s\S]+?); END$/,
    bound: 'statements of our own migrations',
  },
]

/** Patterns that are assembled at run time, by file: the possible results, or why no untrusted party controls them. */
const known: { readonly [file: string]: readonly RegExp[] | string } = {
  'src/engine/router.ts': [/^\/v1\/chat\/completions$/, /^\/v1beta\/models\/(.+):generateContent$/],
  'src/simulator/find-route.ts': [/^\/v1beta\/models\/(?<model>.+):generateContent$/],
  'src/tools/first-config.ts': [/(\$\{UPSTREAM_URL:-)[^}]*/],
  'src/simulator/text/sample.ts': 'a pattern of a caller of at most 200 characters, tried on texts of at most 10',
  'src/engine/classify-response/match-message.ts': [/can only afford [$€¥]? ?(\d+(?:[,_]\d{3})*(?:\.\d+)?)/],
  'src/admin/routes/keys.ts': 'the pattern of a label, a class of characters',
  'src/admin/routes/people.ts': 'the pattern of the name of a user, a class of characters',
  'src/cli/commands/completion.ts': [/^(?:families|pipeline)\.(?=(?:auth|ratelimit)\b)/],
}

t.test('no pattern of the product costs more than linear time', async t => {
  t.ok(patterns.length > 200)
  const judged = new Map<string, string | undefined>()
  const found: string[] = []
  const needed = new Set<Bounded>()
  for (const { file, source, flags } of patterns) {
    const text = `/${source}/${flags}`
    if (!judged.has(text)) judged.set(text, findGrowth({ source, flags }))
    const growth = judged.get(text)
    if (growth === undefined) continue
    const entry = bounded.find(one => one.file === file && String(one.pattern) === text)
    if (entry) needed.add(entry)
    else found.push(`${file}: ${text}: ${growth}`)
  }
  t.strictSame(found, [])
  t.strictSame(
    bounded.filter(entry => !needed.has(entry)).map(({ file, pattern }) => `${file}: ${pattern}`),
    [],
    'each exception is still needed',
  )
})

t.test('patterns assembled at run time are known, and their number does not grow', async t => {
  t.strictSame([...new Set(made.map(({ file }) => file))].toSorted(), Object.keys(known).toSorted())
  for (const [file, samples] of Object.entries(known))
    for (const sample of typeof samples === 'string' ? [] : samples) t.equal(findGrowth(sample), undefined, file)
})

t.test('finds patterns that backtrack', async t => {
  for (const pattern of [
    // Earlier patterns for base64 in lines, and for drawings, in texts of image answers.
    /([A-Za-z0-9+/_=-]{16,})\s+(?=[A-Za-z0-9+/_=-]{16,})/g,
    /<svg[\s>][^]*<\/svg/i,
    // Comments before a drawing: each doubled the time.
    /^\s*(?:<\?xml[^>]*>\s*|<!--[^]*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg[\s>]/i,
    /^https?:\/\/([^/?#]*)([^#]*)$/i,
    /\/models\/.+:[a-z]+[A-Z][A-Za-z]+$/,
    /[{,][^{},"']*:\s+[^"'{},\s][^"'{},]*\{/,
    /(?<=:\/\/[^\s/@:]*:)[^\s"']+(?=@)/g,
    /(?<=\bBearer\s+)[^\s"'{}$][^\s"'}]*/gi,
    /\s*,\s*/,
    /0+$/,
    /"(?:[^"\\]|\\.)*"/g,
    /(a+)+b/,
    /(?:a|ab|b)*c/,
  ])
    t.type(findGrowth(pattern), 'string', String(pattern))
})

t.test('accepts patterns that read each character a few times', async t => {
  for (const pattern of [
    /[A-Za-z0-9+/_=-]{32,}/g,
    /(?<![A-Za-z0-9+/_=-])([A-Za-z0-9+/_=-]{16,})\s+(?=[A-Za-z0-9+/_=-]{16})/g,
    /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/,
    /(?<!0)0+$/,
    /^"(?:[^"\\]|\\.)*"/,
  ])
    t.equal(findGrowth(pattern), undefined, String(pattern))
})

t.test('the step counter finds the same matches as Node in every tried text', async t => {
  for (const { source, flags } of patterns) {
    const pattern: Pattern = { source, flags: flags.includes('g') ? flags : `${flags}g` }
    const counted = new CountedPattern(pattern)
    const texts = [...attacksOn(counted)].filter((_, i) => i % 97 === 0).map(attack => textOf(attack, 40))
    for (const text of texts) {
      const { found, isWhole } = counted.search(text, 1_000_000)
      if (!isWhole) continue
      const wanted = [...text.matchAll(new RegExp(source, pattern.flags))]
      const ranges = found.map(({ from, to }) => `${from}-${to}`).join()
      const want = wanted.map(({ 0: { length }, index }) => `${index}-${index + length}`).join()
      if (ranges !== want) t.fail(`/${source}/${flags} in ${JSON.stringify(text)}: ${ranges}, not ${want}`)
    }
  }
})

t.test('patterns are read from code, not from texts and comments, with names resolved', async t => {
  const { patterns, made } = readPatterns(
    'x.ts',
    'const most = 3\nconst word = "[a-z]"\n// /no+/\nconst text = "/no+/"\nconst half = (a: number) => a / 2 / 1\n' +
      'const a: RegExp = /a+[/]/gi\nconst b = new RegExp(`^${word}{${most}}$`, "u")\nconst c = new RegExp(a, "g")\n' +
      'const d = (x: string) => new RegExp(x)',
  )
  t.strictSame(
    patterns.map(({ source, flags }) => `/${source}/${flags}`),
    ['/a+[/]/gi', '/^[a-z]{3}$/u', '/a+[/]/g'],
  )
  t.strictSame(
    made.map(({ text }) => text),
    ['new RegExp(x)'],
  )
})
