import { readFile } from 'node:fs/promises'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'

type Colour = readonly [red: number, green: number, blue: number]

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(colour: Colour): number {
  const [r, g, b] = colour.map(value => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: Colour, b: Colour): number {
  const [x, y] = [luminance(a), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

/** The tokens of the style sheet, each light and dark. */
async function readTokens(): Promise<ReadonlyMap<string, { readonly light: Colour; readonly dark: Colour }>> {
  const text = await readFile(new URL('../../src/console/styles/theme.css', import.meta.url), 'utf8')
  const found = text.matchAll(/--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)/g)
  const read = (hex: string): Colour =>
    [0, 2, 4].map(at => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Colour
  return new Map(
    [...found].map(([, name = '', light = '', dark = '']) => [name, { light: read(light), dark: read(dark) }]),
  )
}

const surfaces = ['ground', 'paper', 'sunk']
/** Texts and their backgrounds: at least 4.5 : 1. */
const texts: { readonly [text: string]: readonly string[] } = {
  ink: [...surfaces, 'accent-wash', 'good-wash', 'warn-wash', 'bad-wash'],
  'ink-soft': [...surfaces, 'accent-wash', 'good-wash', 'warn-wash', 'bad-wash'],
  accent: [...surfaces, 'accent-wash'],
  'accent-ink': ['accent'],
  good: [...surfaces, 'good-wash'],
  warn: [...surfaces, 'warn-wash'],
  bad: [...surfaces, 'bad-wash'],
  'bad-ink': ['bad'],
  // The toast.
  ground: ['ink'],
}
/** Edges of controls and parts of drawings: at least 3 : 1. */
const drawn: { readonly [part: string]: readonly string[] } = {
  'line-strong': ['ground', 'paper'],
  ...Object.fromEntries(['0', '1', '2', '3', '4', '5', '6', '7'].map(part => [`part-${part}`, ['paper']])),
  bar: ['paper'],
  'bar-bad': ['paper'],
}

t.test('texts have a contrast of 4.5 : 1, controls and drawings of 3 : 1, light and dark (WCAG AA)', async t => {
  const tokens = await readTokens()
  for (const [least, pairs] of [
    [4.5, texts],
    [3, drawn],
  ] as const)
    for (const [front, backs] of Object.entries(pairs))
      for (const back of backs)
        for (const theme of ['light', 'dark'] as const) {
          const [a, b] = [tokens.get(front)?.[theme], tokens.get(back)?.[theme]]
          const found = a && b ? contrast(a, b) : 0
          t.ok(found >= least, caseName({ front, back, theme, contrast: found.toFixed(2), least }))
        }
})

t.test('every colour token of a text or a surface is measured', async t => {
  const measured = new Set(
    [...Object.entries(texts), ...Object.entries(drawn)].flatMap(([front, backs]) => [front, ...backs]),
  )
  // Hairlines carry no meaning.
  const decorative = new Set(['line'])
  for (const name of (await readTokens()).keys()) t.ok(measured.has(name) || decorative.has(name), caseName({ name }))
})
