import t from 'tap'
import { csvLine, csvNames } from '../../src/util/csv.ts'

t.test('a cell that begins like a formula is escaped, and commas stay inside their cells', async t => {
  const cells = ['=1+1', '＝1', '+1', '-1', '@sum', '\tx', 'a,b', 'say "so"', 'two\nlines', 'plain', -1, '']
  t.equal(csvLine(cells), `'=1+1,'＝1,'+1,'-1,'@sum,'\tx,"a,b","say ""so""","two\nlines",plain,-1,`)
})

t.test('each of several names in a cell can be read back', async t => {
  t.equal(csvNames(['web', 'team:blue']), 'web team:blue')
  t.not(csvNames(['two words']), csvNames(['two', 'words']))
  t.equal(csvNames(['two words', 'a"b', 'c']), '"two words" "a\\"b" c')
})
