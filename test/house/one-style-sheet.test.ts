import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'

const root = resolve(import.meta.dirname, '../..')
const { stdout } = await promisify(execFile)('git', ['ls-files', '-z', 'src', 'plugins'], { cwd: root })
const tracked = stdout.split('\0').filter(file => file !== '')
const read = (file: string) => readFile(join(root, file), 'utf8').catch(() => '')

const theme = 'src/console/styles/theme.css'
/** Text that looks like a CSS colour but is not, with the reason. */
const exceptions: { readonly [file: string]: string } = {
  'src/console/public/icon.svg': 'a drawing: the mark looks the same in every theme',
  'src/simulator/text/sample.ts': 'a text that satisfies patterns of callers',
}

/** Texts with CSS rules of their own, with the reason. */
const alone: { readonly [file: string]: string } = {
  'src/domain/statement-page.ts': 'a page that is kept as a file and printed: no sheet of ours is there',
}

/** Colours in CSS notation. A `#` begins one only in a value: elsewhere it is a private member or an address. */
const colour =
  /(?:[:,(=]\s*|["'`])#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})(?=[\s"'`;,)])|\b(?:rgba?|hsla?|hwb|oklch|oklab|lch|lab)\(|light-dark\((?!\))/i

/** CSS rules in any form: a block of declarations, a style of an element, a sheet in a page. */
const rules =
  /<style\b|\sstyle=["{]|\b(?:background|border|margin|padding|font-size|display|grid-template-columns)(?:-[a-z]+)*:\s*[^'"`\s][^'"`]*;/

function coloursIn(text: string): readonly string[] {
  return text.split('\n').filter(line => colour.test(line.replace(/\bin oklab\b/g, '')))
}

t.test('colours are in one place: the theme of the console', async t => {
  for (const line of ["color: '#1f5fbf'", 'color: #fff;', 'fill="#fff"', 'background: rgb(15 17 20 / 45%);'])
    t.equal(coloursIn(line).length, 1, line)
  for (const line of ['#add(row)', 'this.#bad', "href='#console'", 'color-mix(in oklab, var(--a) 88%, var(--b))'])
    t.equal(coloursIn(line).length, 0, line)
  t.ok(coloursIn(await read(theme)).length > 15)
  for (const file of Object.keys(exceptions)) t.not(coloursIn(await read(file)).length, 0, `${file} still has one`)
  for (const file of tracked.filter(file => file !== theme && !(file in exceptions)))
    t.strictSame(coloursIn(await read(file)), [], file)
})

/** Declarations of a distance between or inside parts. */
const distance = /(?<![-\w])(?:(?:row-|column-)?gap|(?:scroll-)?(?:padding|margin)(?:-[a-z-]+)?):[^;{}]*;/g

/** Distances with a literal length: a line is 1px, and lengths relative to the text use its units. */
function distancesOf(sheet: string): readonly string[] {
  return (sheet.match(distance) ?? []).filter(one => /(?<![\d.])(?!1px\b)\d[\d.]*(?:px|rem)\b/.test(one))
}

t.test('distances are steps of one scale, in the theme', async t => {
  for (const one of ['gap: 10px;', 'padding: 0 7px;', 'margin: -4px 0;', 'padding-inline-end: 1.5rem;'])
    t.equal(distancesOf(one).length, 1, one)
  for (const one of ['gap: var(--space-4);', 'padding: 0 1px;', 'margin-inline: 0 1ch;', 'inset: 10px;', 'gap: 1px;'])
    t.equal(distancesOf(one).length, 0, one)
  const steps = [...(await read(theme)).matchAll(/--space-\d+: (\d+)px;/g)].map(([, px]) => Number(px))
  t.strictSame(steps, [2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64])
  for (const file of tracked.filter(file => file.endsWith('.css')))
    t.strictSame(distancesOf(await read(file)), [], file)
})

t.test('style rules are in style files, and in no text of code', async t => {
  for (const line of ['<style>', '<p style="x">', 'p { margin: 0; }', '  padding-inline: 4px;'])
    t.match(line, rules, caseName({ line }))
  for (const line of ["{ display: 'a' }", 'font: Font', 'const style = 1']) t.notMatch(line, rules, caseName({ line }))
  const code = tracked.filter(file => /\.(?:tsx?|cjs|html|json)$/.test(file))
  t.ok(code.length > 300)
  for (const file of code.filter(file => !(file in alone))) t.notMatch(await read(file), rules, file)
  for (const file of Object.keys(alone)) t.match(await read(file), rules, `${file} still has some`)
})

t.test('every style file is part of the one sheet that all pages link', async t => {
  const sheets = tracked.filter(file => file.endsWith('.css'))
  const linked = [...(await read('src/console/index.html')).matchAll(/<link rel="stylesheet" href="\.\/([^"]+)"/g)]
  t.strictSame(linked.map(([, name]) => `src/console/${name}`).toSorted(), sheets.toSorted())
  for (const file of tracked.filter(file => /\.tsx?$/.test(file)))
    t.notMatch(await read(file), /import [^\n]*['"]\.[^'"]*\.css['"]/, `${file} brings no sheet of its own`)
})
