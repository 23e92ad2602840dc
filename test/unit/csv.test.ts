import t from 'tap'
import { csvLine } from '../../src/util/csv.ts'

t.test('a cell that begins like a formula is escaped, and commas stay inside their cells', async t => {
  const cells = ['=1+1', '＝1', '+1', '-1', '@sum', '\tx', 'a,b', 'say "so"', 'two\nlines', 'plain', -1, '']
  t.equal(csvLine(cells), `'=1+1,'＝1,'+1,'-1,'@sum,'\tx,"a,b","say ""so""","two\nlines",plain,-1,`)
})
