/** An amount and its currency's code. */
export function Money({ amount, currency }: { readonly amount: string; readonly currency: string }) {
  return (
    <span class="money">
      {amount} <abbr>{currency}</abbr>
    </span>
  )
}
