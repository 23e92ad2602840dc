/** Thrown by a form's own checks. The text is a function, because the user may change the language. */
export class FieldError extends Error {
  readonly field: string
  readonly text: () => string

  constructor(field: string, text: () => string) {
    super(text())
    this.field = field
    this.text = text
  }
}
