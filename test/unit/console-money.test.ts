import t from 'tap'
import {
  groupNumbers,
  placesOf,
  shownAmount,
  shownAsSmall,
  shownExact,
  shownForecast,
} from '../../src/console/shown-money.ts'

t.test('an amount has two decimals, and more only if it would nearly be 0', async t => {
  for (const [exact, shown] of [
    ['0.00', '0.00'],
    ['0.000001', '0.000001'],
    ['0.000012', '0.000012'],
    ['0.000123', '0.00012'],
    ['0.001235', '0.0012'],
    ['0.009960', '0.01'],
    ['0.034567', '0.035'],
    ['0.04', '0.04'],
    ['0.099999', '0.10'],
    ['0.123456', '0.12'],
    ['0.995', '1.00'],
    ['12.345678', '12.35'],
    ['1234.5', '1,234.50'],
    ['999999.995', '1,000,000.00'],
    ['123456789.00', '123,456,789.00'],
    ['-0.005', '−0.005'],
    ['-1234.565', '−1,234.57'],
  ] as const)
    t.equal(shownAmount(exact), shown, exact)
})

t.test('an exact amount keeps its decimals, and has thousands separators', async t => {
  for (const [exact, shown] of [
    ['0.00', '0.00'],
    ['0.125', '0.125'],
    ['1234567.89', '1,234,567.89'],
    ['-1234.000001', '−1,234.000001'],
  ] as const)
    t.equal(shownExact(exact), shown, exact)
})

t.test('the numbers of a sentence have thousands separators, and its names none', async t => {
  for (const [sentence, shown] of [
    ['2 × 1234567.89 = 2469135.78 USD', '2 × 1,234,567.89 = 2,469,135.78 USD'],
    ['30606 input tokens × 0.123456 / 1M', '30,606 input tokens × 0.123456 / 1M'],
    ['3840x2160', '3840x2160'],
  ] as const)
    t.equal(groupNumbers(sentence), shown, sentence)
})

t.test('in a column of larger amounts a small one has two decimals too', async t => {
  for (const [exact, shown] of [
    ['0.00', null],
    ['0.000007', '< 0.01'],
    ['0.004999', '< 0.01'],
    ['0.005', '0.01'],
    ['0.034567', '0.03'],
    ['-0.001', '> −0.01'],
    ['-0.06', '−0.06'],
    ['0.1', null],
  ] as const)
    t.equal(shownAsSmall(exact), shown, exact)
})

t.test('a forecast has three digits', async t => {
  for (const [exact, shown] of [
    ['0.00', '≈ 0.00'],
    ['0.004567', '≈ 0.0046'],
    ['1.234567', '≈ 1.23'],
    ['45.678901', '≈ 45.70'],
    ['123.456', '≈ 123'],
    ['12345.6789', '≈ 12,300'],
    ['99.999', '≈ 100.00'],
  ] as const)
    t.equal(shownForecast(exact), shown, exact)
})

t.test('the decimals of a column are counted', async t => {
  t.equal(placesOf('1,234.50'), 2)
  t.equal(placesOf('0.000012'), 6)
})
