import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { formatText } from '../../src/config/format-text.ts'
import { readYaml } from '../../src/config/load.ts'
import { toValue } from '../../src/config/tree.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

const shipped = readFileSync(new URL('../../gateway.yaml', import.meta.url), 'utf8')
const broken = new URL('../cases/config-errors/', import.meta.url)

function format(text: string): string {
  const formatted = formatText(text)
  if (!formatted.ok) throw new Error(JSON.stringify(formatted.diagnostics))
  return formatted.text
}

const valueOf = (text: string): unknown => {
  const { root } = readYaml(text)
  return root && toValue(root)
}

t.test('the shipped gateway.yaml is formatted', async t => {
  t.equal(format(shipped), shipped)
})

const cases: readonly (readonly [title: string, given: string, wanted: string])[] = [
  ['two blanks a level', 'a:\n      b:\n         c: 1\n', 'a:\n  b:\n    c: 1\n'],
  ['a list stands below its key', 'a:\n- b: 1\n  c: 2\n-   d\n', 'a:\n  - b: 1\n    c: 2\n  - d\n'],
  ['a list in a list', 'a:\n    - - x\n      - y\n', 'a:\n  - - x\n    - y\n'],
  ['one blank inside braces, none inside brackets', 'a: {b: [ 1,2 ],c: { }}\n', 'a: { b: [1, 2], c: {} }\n'],
  ['one blank behind a colon', 'a:    1\nb :   2\n', 'a: 1\nb: 2\n'],
  ['blanks and tabs at the end of a line go', 'a: 1  \t\n  \nb: 2 # c   \n', 'a: 1\n\nb: 2 # c\n'],
  ['one empty line at most, none at the ends', '\n\na: 1\n\n\n\nb: 2\n\n\n', 'a: 1\n\nb: 2\n'],
  ['line ends and a byte order mark', '\uFEFFa: 1\r\nb: "x"\r\n', 'a: 1\nb: "x"\n'],
  ['a last line without an end gets one', 'a: 1', 'a: 1\n'],
  ['quotes stay', `a: 'x'\nb: "y"\nc: z\n`, `a: 'x'\nb: "y"\nc: z\n`],
  [
    'comments beside values keep their column',
    'a: {b: 1}    # x\nc: 1         # y\n',
    'a: { b: 1 }  # x\nc: 1         # y\n',
  ],
  ['a comment that goes on below one stays below it', 'a: 1   # x\n       # y\n', 'a: 1   # x\n       # y\n'],
  ['a comment moves with what it stands above', 'a:\n     # x\n     b: 1\n', 'a:\n  # x\n  b: 1\n'],
  ['a comment at the end of a level stays in it', 'a:\n    b: 1\n    # c: 2\nd: 3\n', 'a:\n  b: 1\n  # c: 2\nd: 3\n'],
  [
    'a block of text moves as a whole and keeps its own blanks',
    'a:\n    b: |\n      one  \n        two\n\n\n      three\n\n\nc: 1\n',
    'a:\n  b: |\n    one  \n      two\n\n\n    three\n\nc: 1\n',
  ],
  ['empty lines that belong to a text stay', 'a: |+\n  x\n\n\nb: 1\n', 'a: |+\n  x\n\n\nb: 1\n'],
  ['lines that a mapping is broken into stay', 'a:\n    - {b: [1,\n         2]}\n', 'a:\n  - { b: [1,\n       2] }\n'],
  ['what is quoted or a reference is not touched', 'a: {b: "{c:  1,d}"}\n', 'a: { b: "{c:  1,d}" }\n'],
]

for (const [title, given, wanted] of cases)
  t.test(`layout: ${title}`, async t => {
    t.equal(format(given), wanted)
    t.equal(format(wanted), wanted, 'and once more changes nothing')
  })

t.test('an unreadable file is unchanged, and its errors are reported', async t => {
  for (const text of ['a: [1', 'a: 1\na: 2', 'a: &x 1', '', 'a:\n\t- 1'])
    t.match(formatText(text), { ok: false, diagnostics: [{}] }, caseName({ text }))
})

t.test('formatting keeps the meaning of any file and is stable', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const texts = [shipped, ...readdirSync(broken).map(name => readFileSync(new URL(name, broken), 'utf8'))]
  let compared = 0
  for (const text of texts) {
    if (!formatText(text).ok) continue
    for (let round = 0; round < 2; round++) {
      const disturbed = disturb(text, random)
      if (!formatText(disturbed).ok) continue
      const formatted = format(disturbed)
      t.strictSame(valueOf(formatted), valueOf(text), `SEED=${seed}`)
      t.equal(format(formatted), formatted, `SEED=${seed}`)
      compared++
    }
  }
  t.ok(compared > 100, `${compared} compared`)
})

/** Adds blanks and empty lines where they have no meaning. */
function disturb(text: string, random: () => number): string {
  const wide = 1 + Math.floor(random() * 3)
  return text
    .split('\n')
    .map(line => {
      let changed = line.replace(/^ +/, blanks => ' '.repeat(blanks.length * wide))
      if (/^[^"'#]*[{[][^"'#]*$/.test(line) && random() < 0.5)
        changed = changed.replaceAll(', ', ',   ').replaceAll('{ ', '{').replaceAll(' }', '  }')
      return changed + ' '.repeat(Math.floor(random() * 3)) + (random() < 0.1 ? '\n\n' : '')
    })
    .join('\n')
}
