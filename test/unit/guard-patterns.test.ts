import t from 'tap'
import { normalize, normalForm } from '../../plugins/guard-patterns/normalize.ts'
import { buildRules, checkPart, checkTexts, checkWhole } from '../../plugins/guard-patterns/rules.ts'
import type { PatternsFacet } from '../../plugins/guard-patterns/schema.ts'
import { caseName } from '../harness/case-name.ts'
import { diceOf, seed } from '../harness/seed.ts'

type RuleFacet = PatternsFacet['rules'][number]

function rulesOf(rules: readonly Partial<RuleFacet>[], more: Partial<PatternsFacet> = {}) {
  const full = rules.map(
    (rule, i): RuleFacet => ({
      name: `rule-${i}`,
      ignore_case: false,
      do: 'mask',
      put: `[${i}]`,
      on: ['request', 'response'],
      ...rule,
    }),
  )
  return buildRules({ rules: full, longest: 128, normalize: true, ...more })
}

function masked(rules: ReturnType<typeof rulesOf>, text: string): string {
  const verdict = checkWhole(rules, [text], 'request')
  return verdict.kind === 'edit'
    ? (verdict.texts[0] ?? '')
    : verdict.kind === 'block'
      ? `blocked by ${verdict.rule}`
      : text
}

t.test('invisible characters and other spellings hide nothing, and only what matches is masked', async t => {
  const rules = rulesOf([{ words: ['Bluebird', 'Café', '한국'] }, { pattern: '\\d{4}-\\d{4}' }, { pattern: '\u2066' }])
  for (const [text, expected] of [
    ['a Blue\u200bbird!', 'a [0]!'],
    ['a \u200bB\u2060l\u00adu\ufeffe\u200db\u200ci\u180er\u034fd\u200b!', 'a \u200b[0]\u200b!'],
    ['ｂｌｕｅｂｉｒｄ，ｘ', '[0]，ｘ'],
    ['𝐁𝓵𝔲𝕖𝖇𝗶𝙧𝚍 x', '[0] x'],
    ['Ⓑⓛⓤⓔⓑⓘⓡⓓ', '[0]'],
    ['B\ufe0fluebird\u{e0061}', '[0]\u{e0061}'],
    ['cafe\u0301 and café', '[0] and [0]'],
    ['\u1112\u1161\u11ab\u1100\u116e\u11a8', '[0]'],
    ['１２３４-5\u200b678 ①②③④-5678', '[1] [1]'],
    ['x\u2066y', 'x[2]y'],
    ['ﬁ Ｂｌｕｅ bird', 'ﬁ Ｂｌｕｅ bird'],
    ['\ud83d\ude00\u200d\ud83d\ude00 \ud800 \u200b', '\ud83d\ude00\u200d\ud83d\ude00 \ud800 \u200b'],
    ['\u200b'.repeat(10) + 'Bluebird', '\u200b'.repeat(10) + '[0]'],
  ] as const)
    t.equal(masked(rules, text), expected, JSON.stringify(text))
  const off = rulesOf([{ words: ['Bluebird'] }], { normalize: false })
  t.equal(masked(off, 'Blue\u200bbird ｂｌｕｅｂｉｒｄ Bluebird'), 'Blue\u200bbird ｂｌｕｅｂｉｒｄ [0]')
  t.equal(
    masked(rulesOf([{ words: ['ｂｌｕｅ'], do: 'block' }]), 'a blue b'),
    'blocked by rule-0',
    'a word is read as texts are',
  )
  t.equal(masked(rulesOf([{ pattern: 'f' }]), 'aﬁb'), 'a[0]b', 'a character is masked as a whole')
})

t.test('a text is normalised as a whole: nothing can separate a letter from its marks', async t => {
  const dice = diceOf(seed)
  const marks = '\u0301\u0327\u200b\u1100\u1161\u11a8\ufe0f\u00ad\u034f\u0b47\u0b3e\u{11131}\u{11127}\ud800'
  const pieces = Array.from(`ae가ﾡￂㄱㅏㄳ中ﬁ𝐁ｅｶﾞ😀ำ${marks}`)
  const others: string[] = []
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: 1 + dice(5) }, () => pieces[dice(pieces.length)]).join('')
    if ((normalize(text)?.text ?? text) !== normalForm(text)) others.push(JSON.stringify(text))
  }
  t.same(others, [])
  const rules = rulesOf([{ words: ['Café', 'ガンダム', '한국'] }])
  for (const [text, expected] of [
    ['a cafe\u200b\u0301 b', 'a [0] b'],
    ['cafe\u034f\u0301!', '[0]!'],
    ['ｶﾞﾝﾀﾞﾑ, ｶﾞﾝﾀ', '[0], ｶﾞﾝﾀ'],
    ['ㅎㅏ\u11ab구\u11a8', '[0]'],
    ['한\u1100ㅜ\u11a8 ', '[0] '],
  ] as const)
    t.equal(masked(rules, text), expected, JSON.stringify(text))
})

t.test('matches of two rules that overlap are masked as a whole, in linear time', async t => {
  t.equal(masked(rulesOf([{ pattern: 'foo bar' }, { pattern: 'bar baz' }]), 'a foo bar baz b'), 'a [0] b')
  t.equal(masked(rulesOf([{ pattern: 'bar baz' }, { pattern: 'foo bar' }]), 'a foo bar baz b'), 'a [0] b')
  t.equal(
    masked(rulesOf([{ pattern: '\\d{2,}' }]), '12\u200b3'),
    '[0]',
    'of the text as it is written and as it is read',
  )
  const many = 'ab '.repeat(40_000)
  t.equal(masked(rulesOf([{ words: ['ab'] }]), many), '[0] '.repeat(40_000), 'as many matches as there are words')
})

t.test('a stream is masked like a complete text, however it is cut and spelled', async t => {
  const dice = diceOf(seed)
  const rules = rulesOf([{ pattern: 'secret' }, { pattern: '[0-9]{3}-[0-9]{3}' }, { pattern: 'é' }], { longest: 16 })
  const pieces = [
    'secret',
    '123-456',
    'e\u0301',
    'é',
    'x',
    ' ',
    '\u200b',
    'ｓｅｃｒｅｔ',
    's\u200be\u00adcret',
    '12３-4\u20605６',
    '中',
    '，',
    '\ud83d\ude00',
    '\u200b'.repeat(40),
    'ﬁ',
    '\u0301',
  ]
  for (let round = 0; round < 400; round++) {
    let text = ''
    for (let i = 0; i < 1 + dice(12); i++) text += pieces[dice(pieces.length)]
    let [sent, unsent, at] = ['', '', 0]
    while (at < text.length || unsent !== '') {
      const next = Math.min(text.length, at + 1 + dice(9))
      unsent += text.slice(at, next)
      at = next
      const verdict = checkPart(rules, unsent, at === text.length)
      if (verdict.kind !== 'release') throw new Error('nothing blocks')
      let from = 0
      for (const edit of verdict.edits) {
        sent += unsent.slice(from, edit.from) + edit.put
        from = edit.to
      }
      sent += unsent.slice(from, verdict.upTo)
      unsent = unsent.slice(verdict.upTo)
      if (at === text.length && unsent !== '') throw new Error('the end releases everything')
    }
    t.equal(sent, masked(rules, text), caseName({ round, text: JSON.stringify(text) }))
  }
})

t.test('long texts are searched in several turns, with the same result', async t => {
  const rules = rulesOf([{ words: ['secret'] }, { pattern: '\\d{4}-\\d{4}' }, { pattern: '<.*>' }, { pattern: 'z+' }])
  const line = 'Grüße: 1234-5678, s\u200becret and secretary. '
  for (const [name, texts] of Object.entries({
    'one text': [line.repeat(20_000)],
    'many texts': Array<string>(20_000).fill(line),
    'a match across pieces': [`${'x '.repeat(32_700)}<${'y'.repeat(3_000)}> ${line.repeat(100)}`],
    'a match longer than a piece': ['z'.repeat(400_000) + line],
    'one word': ['x'.repeat(500_000)],
  })) {
    let turns = 0
    let isOver = false
    const count = (): void => void (turns++, isOver || setImmediate(count))
    setImmediate(count)
    const verdict = await checkTexts(rules, texts, 'request')
    isOver = true
    const expected = checkWhole(rules, texts, 'request')
    t.equal(verdict.kind, expected.kind, name)
    if (verdict.kind === 'edit' && expected.kind === 'edit')
      t.ok(
        verdict.texts.every((text, i) => text === expected.texts[i]),
        name,
      )
    t.ok(turns >= 1, name)
  }
  const blocking = rulesOf([{ words: ['secret'], do: 'block' }])
  t.match(await checkTexts(blocking, [`${line.repeat(9_000)}secret`], 'request'), { kind: 'block', rule: 'rule-0' })
})
