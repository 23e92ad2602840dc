import { type ErrorTable, failures } from '../../src/plugin-api/index.ts'

export const errors = {
  invalid_size: {
    status: 400,
    type: 'invalid_request_error',
    param: 'size',
    text: "'{size}' is not a size of the model '{model}'. Send <width>x<height> in whole pixels, as in 1024x1024, or one of {labels}, or leave size out.",
  },
} as const satisfies ErrorTable

export const fail = failures(errors)
