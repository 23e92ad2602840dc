import t from 'tap'
import { findCode } from '../simulate/find-code.ts'

const source = `const a = 1
/** Adds. */
function add(
  one: number, // the first
  other: number,
): number {
  return one + other /* both */ + 'a  b'
}
`

t.test('finds code whatever its line breaks, comments and trailing commas, and nothing else', async t => {
  const cut = (code: string) => {
    const found = findCode(source, code)
    return found && source.slice(found.start, found.end)
  }
  t.match(cut('function add(one: number, other: number): number {'), /^function add\(\n[^]*\{$/)
  t.equal(cut("one+other+'a  b'"), "one + other /* both */ + 'a  b'")
  t.match(cut('one: number,\n  other: number,\n)'), /^one[^]*\)$/, 'a trailing comma may be there')
  t.equal(cut("+ 'a b'"), undefined, 'literals are compared exactly')
  t.equal(cut('retur none'), undefined)
  t.equal(cut('other + one'), undefined)
  t.equal(cut('const a = 1'), 'const a = 1')
  t.equal(cut('// Adds.'), undefined, 'a comment is not code')
})
