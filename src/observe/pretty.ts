import { styleText } from 'node:util'
import { escapeUnruly } from './scrub.ts'

type Style = 'gray' | 'green' | 'yellow' | 'red'
const levels: { readonly [level: string]: { readonly word: string; readonly style: Style } } = {
  20: { word: 'debug', style: 'gray' },
  30: { word: 'info ', style: 'green' },
  40: { word: 'warn ', style: 'yellow' },
  50: { word: 'error', style: 'red' },
  60: { word: 'fatal', style: 'red' },
}
const plainWord = /^[\w.,:;/@%+×()[\]{}-]+$/

/** One line of JSON log as one line for people: time, level, text, then the facts as `name=value`. */
export function formatForPeople(line: string, colours: boolean): string {
  const { level, time, msg, ...facts } = JSON.parse(line) as { [name: string]: unknown }
  const paint = (style: Style, text: string) => (colours ? styleText(style, text, { validateStream: false }) : text)
  const { word, style } = levels[String(level)] ?? { word: '     ', style: 'gray' }
  const clock = new Date(Number(time)).toISOString().slice(11, 23)
  const rest = Object.entries(facts)
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => paint('gray', `${name}=${writeFact(value)}`))
  return (
    [paint('gray', clock), paint(style, word), writeText(typeof msg === 'string' ? msg : ''), ...rest].join(' ') + '\n'
  )
}

function writeFact(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return plainWord.test(text) ? text : escapeUnruly(JSON.stringify(text))
}

/** Escapes line ends and escape sequences again, because decoding the JSON has restored them. */
function writeText(text: string): string {
  return escapeUnruly(JSON.stringify(text).slice(1, -1)).replaceAll(String.raw`\"`, '"')
}
