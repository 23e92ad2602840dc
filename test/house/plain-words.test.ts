import t from 'tap'
import { findRetiredNames, findWords, isRetired, rateOf, readBounds } from './plain-words.ts'

t.test('no folder has more hard words than its limit allows', t => {
  const bounds = readBounds()
  const folders = findWords()
  t.strictSame([...folders.keys()].toSorted(), Object.keys(bounds).toSorted(), 'each folder has a bound')
  for (const [name, folder] of folders) {
    const rate = rateOf(folder)
    const bound = bounds[name] ?? 0
    t.ok(rate <= bound, `${name}: ${rate} in 1,000 lines, at most ${bound}`)
    if (rate <= bound) continue
    for (const { file, line, word, better } of folder.found.slice(-40))
      t.comment(`${file}:${line}: "${word}": ${better}`)
  }
  t.end()
})

t.test('no file and no export has a retired name', t => {
  t.strictSame(findRetiredNames(), [])
  for (const name of ['src/engine/lone-links.ts', 'toldSlot', 'LoneLinks', 'isTold', 'dearest'])
    t.ok(isRetired(name), name)
  for (const name of ['src/engine/stand-alone.ts', 'untoldMs', 'doorway', 'readJudgement'])
    t.notOk(isRetired(name), name)
  t.end()
})
