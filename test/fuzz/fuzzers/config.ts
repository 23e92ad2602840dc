import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describeFindings, loadConfig } from '../../../src/index.ts'
import { type Fuzzer, insist } from '../fuzzer.ts'

/** Changes to the shipped configuration, applied in order. */
type ConfigCase = { readonly changes: readonly Change[] }
type Change = { readonly how: string; readonly at: number; readonly to: number; readonly text: string }

const shipped = readFileSync(new URL('../../../gateway.yaml', import.meta.url), 'utf8')
const word = /[\w./:${}-]+/g

const odd = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      '',
      'null',
      '~',
      'true',
      'no',
      '0',
      '-1',
      '1e999',
      '.inf',
      '.nan',
      '0x1F',
      '1_000',
      '"',
      "'",
      '[',
      ']',
      '{',
      '}',
      '[]',
      '{}',
      '*a',
      '&a',
      '<<',
      '<<: *a',
      '!!binary x',
      '!',
      '%YAML 1.1',
      '---',
      '...',
      '|',
      '>-',
      '#',
      '? a',
      '- - -',
      ': :',
      '@',
      '`',
      ',',
      '${X}',
      '${X:-}',
      '${X:?no}',
      '${',
      '${}',
      '${file:/dev/null}',
      '${file:/none}',
      '$$',
      '${A${B}}',
      '__proto__',
      'constructor',
      '1ms',
      '99999999999s',
      '-5s',
      '0s',
      '32MiB',
      '1TiB',
      '9007199254740993',
      '\t',
      '\u0000',
      '\ufeff',
      '\u2028',
      '船',
      '"\\u0000"',
      '"{": "}"',
      'a: b: c',
      'simulator:',
      'http://',
      'https://[::1]:1/',
      'sqlite:',
      'POST /',
      'GET /{a}/{a}',
      '/v1/{x}:y',
      '(a+)+$',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('[', '{a: ', '- ', ' ', '"', '${', 'a', '{', '*'), fc.integer({ min: 2, max: 300 }))
      .map(([unit, times]) => unit.repeat(times)),
  },
)
const change = fc.record({
  how: fc.constantFrom('word', 'word', 'word', 'value', 'drop', 'swap', 'repeat', 'indent', 'put', 'cut', 'erase'),
  at: fc.nat(100_000),
  to: fc.nat(100_000),
  text: odd,
})

export const config: Fuzzer<ConfigCase> = {
  name: 'config',
  promise: 'whatever a configuration says, reading it ends with a plan or with what is wrong and where',
  cases: fc.record({ changes: fc.array(change, { minLength: 1, maxLength: 4 }) }),
  short: 40,
  change: { text: 'text' },
  open: ({ planted, meter }) =>
    Promise.resolve({
      async try({ changes }) {
        const text = changes.reduce(changeText, shipped)
        const load = () => loadConfig({ file: 'gateway.yaml', text }, {})
        // The planted fault: findings of a file that cannot be read are dropped.
        const loaded = await meter.turn(() => load())
        const judged = planted && !loaded.ok ? { ...loaded, findings: [] } : loaded
        if (judged.ok) {
          insist(judged.plan.routes.length > 0, () => 'a plan without routes')
          return text.length
        }
        const { findings } = judged
        insist(
          findings.some(one => one.severity === 'error'),
          () => 'neither a plan nor a word of what is wrong',
        )
        const lines = text.split('\n').length
        for (const one of findings) {
          const place = `${one.code} at ${one.line}:${one.col}`
          insist(
            one.line >= 1 && one.line <= lines && one.col >= 1,
            () => `${place}: no place in a text of ${lines} lines`,
          )
          insist(one.message !== '' && /^[a-z_]+$/.test(one.code), () => `${place}: says nothing`)
        }
        insist((await describeFindings(findings, { color: false })) !== '', () => 'findings that print as nothing')
        return text.length
      },
      close: () => Promise.resolve(),
    }),
}

function changeText(text: string, { how, at, to, text: put }: Change): string {
  const lines = text.split('\n')
  if (how === 'whole') return put
  const [a, b] = [at % lines.length, to % lines.length]
  const line = lines[a] ?? ''
  if (how === 'drop') return lines.toSpliced(a, 1 + (to % 3)).join('\n')
  if (how === 'swap')
    return lines
      .with(a, lines[b] ?? '')
      .with(b, line)
      .join('\n')
  if (how === 'repeat') return lines.toSpliced(b, 0, ...lines.slice(a, a + 1 + (to % 5))).join('\n')
  if (how === 'indent') return lines.with(a, to % 2 === 0 ? ` ${line}` : line.replace(/^ {1,2}/, '')).join('\n')
  if (how === 'value')
    return lines
      .with(
        a,
        line.replace(/(:\s+|- )[^:]*$/, (_, before: string) => `${before}${put}`),
      )
      .join('\n')
  const place = at % Math.max(text.length, 1)
  if (how === 'cut') return text.slice(0, place)
  if (how === 'put') return text.slice(0, place) + put + text.slice(place)
  if (how === 'erase') return text.slice(0, place) + text.slice(place + 1 + (to % 40))
  const words = [...text.matchAll(word)]
  const one = words[at % Math.max(words.length, 1)]
  if (!one) return put
  const other = to % 2 === 0 ? put : (words[to % words.length]?.[0] ?? put)
  return text.slice(0, one.index) + other + text.slice(one.index + one[0].length)
}
