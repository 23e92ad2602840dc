import t from 'tap'
import { browse, browserMissing } from '../harness/browser.ts'
import { lookEverywhere } from '../harness/look-everywhere.ts'

t.test('the reference is readable for everybody', { skip: browserMissing }, async t => {
  const { browser, url } = await browse(t)
  await lookEverywhere(t, browser, `${url}/docs`)
})
