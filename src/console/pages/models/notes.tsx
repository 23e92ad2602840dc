import type { Model } from '../../api/shapes.ts'
import { language } from '../../words/index.ts'

/** What is to be known of a model before it is asked. */
export function Notes({ of: { notes } }: { readonly of: Model }) {
  return (
    <ul class="notes-list">
      {notes[language.value].map(note => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  )
}
