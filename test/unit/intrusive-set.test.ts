import t from 'tap'
import { type Member, IntrusiveSet } from '../../src/util/index.ts'

type Named = Member & { readonly name: string }
const named = (name: string): Named => ({ name, place: -1 })

function namesOf(roster: IntrusiveSet<Named>): readonly string[] {
  const names: string[] = []
  roster.each(({ name }) => names.push(name))
  return names.toSorted()
}

t.test('an added member is present once, a removed one is not', async t => {
  const roster = new IntrusiveSet<Named>()
  const [a, b, c] = [named('a'), named('b'), named('c')]
  for (const one of [a, b, c, b]) roster.add(one)
  t.same([roster.size, namesOf(roster)], [3, ['a', 'b', 'c']])
  roster.delete(a)
  roster.delete(a)
  t.same([roster.size, namesOf(roster), a.place], [2, ['b', 'c'], -1])
  roster.delete(c)
  roster.delete(b)
  t.same([roster.size, namesOf(roster)], [0, []])
  roster.add(a)
  t.same(namesOf(roster), ['a'])
})

t.test('every remaining member gets its turn, whatever is added or removed meanwhile', async t => {
  const all = 'abcdefgh'.split('').map(named)
  for (let leaver = 0; leaver < all.length; leaver++) {
    for (let at = 0; at < all.length; at++) {
      const roster = new IntrusiveSet<Named>()
      for (const one of all) {
        one.place = -1
        roster.add(one)
      }
      const seen: string[] = []
      roster.each(one => {
        seen.push(one.name)
        if (seen.length !== at + 1) return
        roster.delete(all[leaver] as Named)
        roster.delete(one)
        roster.add(named('late'))
      })
      const stay = all.filter(one => one !== all[leaver]).map(({ name }) => name)
      const missed = stay.filter(name => !seen.includes(name))
      t.same(missed, [], `${all[leaver]?.name} leaves on turn ${at + 1}`)
      t.ok(
        seen.length <= all.length + 2,
        `nobody is visited for ever where ${all[leaver]?.name} leaves on turn ${at + 1}`,
      )
    }
  }
})
