import { type ErrorTable, failures } from '../../src/plugin-api/index.ts'

export const errors = {
  invalid_size: {
    status: 400,
    type: 'invalid_request_error',
    param: 'size',
    text: "The model '{model}' does not support the size '{size}'. Send <width>x<height> in whole pixels, such as 1024x1024, or one of {labels}, or omit size.",
  },
} as const satisfies ErrorTable

export const fail = failures(errors)
