import { language } from '../words/index.ts'

/** Notes on a model, in each language. */
export function Notes({ of }: { readonly of: { readonly en: readonly string[]; readonly zh: readonly string[] } }) {
  return (
    <ul class="notes-list">
      {of[language.value].map(note => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  )
}
