import { t } from './index.ts'

const priced = /^price of /

/** A stored line of a configuration's changes in the chosen language; names and values stay unchanged. */
export function tSettingChange(line: string): string {
  if (line.startsWith('model ') && line.endsWith(' removed'))
    return t('change.model.removed', { name: line.slice('model '.length, -' removed'.length) })
  const [named, prices] = halves(line, ' added (')
  if (prices !== undefined && named.startsWith('model ') && prices.endsWith(')'))
    return t('change.model.added', { name: named.slice('model '.length), prices: tValue(prices.slice(0, -1)) })
  const [place, change] = halves(line, ': ')
  if (change === undefined) return line
  const what = priced.test(place) ? t('change.price', { what: place.replace(priced, '') }) : place
  const [was, is] = halves(change, ' → ')
  return is === undefined
    ? t('change.told', { what, told: tValue(change) })
    : t('change.line', { what, was: tValue(was), is: tValue(is) })
}

function halves(text: string, between: string): readonly [string, string | undefined] {
  const at = text.indexOf(between)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + between.length)]
}

/** The text for no value. */
function tValue(text: string): string {
  if (text === 'absent') return t('change.absent')
  if (text === 'none') return t('change.none')
  if (text === 'free') return t('change.free')
  if (text === 'now free') return t('change.now_free')
  if (text === 'no longer free') return t('change.not_free')
  return text === 'changed' ? t('change.changed') : text
}
