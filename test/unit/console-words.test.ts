import t from 'tap'
import { describeMismatch } from '../../plugins/image-tier-billing/mismatch.ts'
import { reasons } from '../../src/admin/reasons.ts'
import { ApiError } from '../../src/console/api/call.ts'
import chinese from '../../src/console/words/zh.json' with { type: 'json' }
import english from '../../src/console/words/en.json' with { type: 'json' }
import { language, speakWith } from '../../src/console/words/index.ts'
import { tWarning } from '../../src/console/words/warning.ts'
import { tMismatch } from '../../src/console/words/mismatch.ts'
import type { SizeMismatch } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'

const han = /\p{Script=Han}/u
const placesIn = (text: string) => new Set(text.match(/\{\w+\}/g))

t.test('every reason of a refusal has words in both languages, of what the reason tells', async t => {
  for (const words of [english, chinese] as const)
    for (const [reason, text] of Object.entries(reasons)) {
      const told = (words as { readonly [word: string]: string })[`refusal.${reason}`]
      t.ok(told, reason)
      for (const place of placesIn(told ?? '')) t.ok(placesIn(text).has(place), `${reason} ${place}`)
    }
  const known = new Set(Object.keys(reasons).map(reason => `refusal.${reason}`))
  const told = Object.keys(english).filter(word => word.startsWith('refusal.'))
  t.strictSame(
    told.filter(word => !known.has(word)),
    [],
    'and no others have',
  )
  t.equal(new ApiError(400, 'invalid', '', { reason: 'missing', values: { field: 'name' } }).reason, 'missing')
})

t.test('warnings that charges keep are told in Chinese, by the facts in them', async t => {
  speakWith('zh', chinese)
  const facts = { asked: '3840x2160', billed: '4K', made: '2K', cheaper: null }
  const mismatches: readonly SizeMismatch[] = [
    { ...facts, kind: 'ignored', returned: '1672x941', billed: '2K' },
    { ...facts, kind: 'dearer', returned: '2816x1584', cheaper: '2048x1152' },
    { ...facts, kind: 'dearer', returned: null, cheaper: '2048x1152' },
    { ...facts, kind: 'other', returned: '2816x1584' },
  ]
  for (const mismatch of mismatches)
    t.equal(tWarning(describeMismatch(mismatch, 'beta-image')), tMismatch(mismatch), caseName({ mismatch }))
  for (const text of [
    'this is the price of the images; what else the request used is charged as req_1-use',
    "charged by what is used; reserved is the most that can be: 12 input, 256 output, times the group's multiplier",
    'charged by what is used; reserved is the most that can be: 3 character, times 0.5',
  ])
    t.match(tWarning(text), han, text)
  t.equal(tWarning('what a plugin of somebody else says'), undefined)
  speakWith('en', english)
  t.equal(language.value, 'en')
  t.equal(tWarning(describeMismatch({ ...facts, kind: 'other', returned: '1x1' }, 'f')), undefined, 'their own words')
})

t.test('people are spoken to in one way', async t => {
  for (const [word, text] of Object.entries(chinese)) t.notMatch(text, /您/, word)
})
