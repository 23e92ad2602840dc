/** Whether the user may decide about a charge: the billing role may not decide about the user's own charges. */
export function decidesOn(
  charge: { readonly user: string | null },
  { may, name }: { readonly may: readonly string[]; readonly name: string },
): 'yes' | 'own' | 'no' {
  if (!may.includes('money')) return 'no'
  return !may.includes('admin') && charge.user === name ? 'own' : 'yes'
}
