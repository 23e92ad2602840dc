/** Whether the user decides about a charge: accountants do not decide about their own. */
export function decidesOn(
  charge: { readonly user: string | null },
  { may, name }: { readonly may: readonly string[]; readonly name: string },
): 'yes' | 'own' | 'no' {
  if (!may.includes('money')) return 'no'
  return !may.includes('admin') && charge.user === name ? 'own' : 'yes'
}
