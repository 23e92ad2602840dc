import type { Oracle } from './oracle.ts'

/** What a gateway says of a machine that fails it. */
const expected = [
  'the storage cannot be written; billable requests are refused',
  'the storage writer failed',
  'a charge could not be ended; recovery will',
  'a hold could not be given back yet',
  "an upstream's key is refused and suspended until it is good again",
  'a charge could not be left to a person; it is charged as estimated',
  'the storage closes with rows that could not be written',
  'charges could not be written and go with the process',
  'requests did not end and go with the process',
]

export const faultless: Oracle = {
  name: 'faultless',
  promise: 'No fault of the program itself is logged, and none is left to nobody.',
  *judge({ stage }) {
    for (const fault of stage.unhandled) yield ['a fault that nobody handled', fault.slice(0, 600)]
    for (const { text, facts } of stage.lives.errors)
      if (!expected.includes(text)) yield [`logged: ${text.replaceAll(/\d+/g, '#')}`, facts]
  },
}
