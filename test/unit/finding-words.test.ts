import { readdirSync, readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import t from 'tap'
import { loadPlan } from '../../src/config/index.ts'
import { formats } from '../../src/config/formats.ts'
import { isConsolePath } from '../../src/gateway/console-listener.ts'
import { type FindingBook, translateFinding, translateSentence } from '../../src/console/words/finding.ts'
import chinese from '../../src/console/words/findings/zh.json' with { type: 'json' }
import { resolveSample, sampleNames } from './config-sample.ts'
import { caseName } from '../harness/case-name.ts'
import { findingSentences } from '../harness/finding-sentences.ts'

const book: FindingBook = chinese
const root = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Three English words in a row, outside of quotations and literal input. */
const english = /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/
const unquoted = (text: string): string => text.replaceAll(/“[^”]*”|'[^']*'|"[^"]*"/g, '')

function codesIn(): readonly string[] {
  const files = execFileSync('git', ['ls-files', '-z', 'src/config', 'src/gateway', 'plugins'], {
    cwd: root,
    encoding: 'utf8',
  })
  const code =
    /\b(?:problem|note|unpriced)\(\s*'([a-z_]+)'|\bcode: (?:days > 0 \? '([a-z_]+)' : )?'([a-z_]+)'|^ {4}id: '([a-z-]+[a-z0-9-]*)'|: '(ignore-[a-z-]+)'/gm
  const found = files
    .split('\0')
    .filter(file =>
      /^(?:src\/config|plugins)\/.*\.ts$|\/(?:signers|create-plugins|build-pipeline|other-currency)\.ts$/.test(file),
    )
    .flatMap(file => [...read(file).matchAll(code)].flatMap(([, ...codes]) => codes.filter(one => one !== undefined)))
  return [...new Set(found)].filter(one => !isOfTheWire.has(one)).toSorted()
}

/** Codes of answers to clients that are not findings. */
const isOfTheWire = new Set(['content_refused'])

t.test('every finding code has Chinese words', async t => {
  const codes = codesIn()
  t.ok(codes.length > 150, `${codes.length} codes`)
  for (const code of codes) t.match(book.codes[code], /\p{Script=Han}/u, code)
})

t.test('a sentence is found with its values, the most specific one first', async t => {
  t.equal(translateSentence(book, "found 'sixty', which is not a whole number"), '此处为“sixty”，应为整数')
  t.equal(translateSentence(book, 'found the number 0, which is not a list or text'), '此处为数字 0，应为列表 或 文本')
  t.equal(translateSentence(book, "unknown key 'a list'"), '这里没有“a list”这一项', 'quotations stay')
  t.equal(translateSentence(book, 'what a plugin of somebody else says'), undefined)
  const finding = { severity: 'error', line: 1, col: 1, path: '', message: 'something new', remedy: null } as const
  t.same(translateFinding(book, { ...finding, code: 'price_missing' }), {
    message: '模型没有价格',
    remedy: null,
    original: 'something new',
  })
  t.same(translateFinding(book, { ...finding, code: 'of_somebody_else' }), {
    message: 'something new',
    remedy: null,
    original: null,
  })
})

t.test('a sentence is translated completely or not at all', async t => {
  t.equal(translateSentence(book, "write 'a', or keep what nobody has words for"), undefined)
  t.match(
    translateSentence(book, 'the file cannot be read: nobody has words for this'),
    /无法读取文件/,
    'a system says its own',
  )
})

t.test('every sentence about a configuration in the sources has a complete Chinese text', async t => {
  const sentences = findingSentences()
  t.ok(sentences.length > 450, `${sentences.length} sentences`)
  for (const { file, text } of sentences) {
    const translated = translateSentence(book, text) ?? text
    t.match(translated, /\p{Script=Han}/u, caseName({ file, text }))
    t.notMatch(unquoted(translated), english, caseName({ file, text, translated }))
  }
})

t.test('errors of a configuration are shown in Chinese: every case', async t => {
  const folder = join(root, 'test/cases/config-errors')
  let count = 0
  for (const name of readdirSync(folder).sort()) {
    const loaded = await loadPlan({
      file: 'gateway.yaml',
      text: readFileSync(join(folder, name), 'utf8'),
      env: {},
      resolvePlugin: resolveSample,
      knownPlugins: sampleNames,
      known: {
        dialects: ['openai', 'hybrid'],
        answers: ['models', 'model', 'charge'],
        simulators: ['one'],
        storages: ['sqlite'],
        counters: ['memory'],
        isConsolePath,
      },
    })
    for (const found of loaded.ok ? loaded.notes : loaded.findings) {
      const { message, remedy, original } = translateFinding(book, { ...found, remedy: found.remedy ?? null })
      count++
      const rest = [message, remedy ?? ''].map(unquoted).join(' ')
      t.notMatch(rest, english, caseName({ name, message: found.message, remedy: found.remedy ?? '', told: rest }))
      // A test plugin has a Chinese text for the kind, and a message of its own next to it.
      if (found.code !== 'tiers_not_rising')
        t.equal(original, null, caseName({ name, message: found.message, remedy: found.remedy ?? '' }))
    }
  }
  t.ok(count > 120, `${count} findings`)
})

t.test('every value format has its name and remedy in Chinese', async t => {
  for (const [name, format] of Object.entries(formats)) {
    const message = translateSentence(book, `found 'x', which is not ${format.name}`) ?? ''
    t.notMatch(unquoted(message), english, caseName({ name, message }))
    t.match(message, /应为.*\p{Script=Han}{2}/u, caseName({ name, message }))
    const remedy = translateSentence(book, format.remedy) ?? format.remedy
    t.notMatch(unquoted(remedy), english, caseName({ name, remedy }))
    t.match(remedy, /\p{Script=Han}/u, caseName({ name, remedy }))
  }
})

t.test('reasons against a configuration edit are shown in Chinese', async t => {
  const sentence = /EditError\(\s*(?:'([^'\n]+)'|"([^"\n]+)")/g
  const found = [...read('src/config/edit/apply-edits.ts').matchAll(sentence)].map(([, one, two]) => one ?? two ?? '')
  t.ok(found.length > 4, `${found.length} sentences`)
  for (const text of [...found, `there is no model 'p-1' in the configuration`]) {
    if (text === 'there is no file') continue
    const translated = translateSentence(book, text) ?? text
    t.match(translated, /\p{Script=Han}/u, text)
    t.notMatch(unquoted(translated), english, text)
  }
  t.match(translateSentence(book, found.find(one => one.includes('${NAME}')) ?? ''), '${NAME}', 'literal input stays')
})
