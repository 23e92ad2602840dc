import { failures } from '../domain/index.ts'

/** Errors of simulated upstreams, with the vendors' messages. */
export const fail = failures({
  object_unknown: { status: 404, type: 'invalid_request_error', text: '{message}' },
  object_exists: { status: 409, type: 'invalid_request_error', text: '{what} already exists.' },
  not_cancellable: {
    status: 400,
    type: 'invalid_request_error',
    text: 'Only responses created with the background parameter set to true can be cancelled.',
  },
  unknown_parameter: { status: 400, type: 'invalid_request_error', text: "Unknown parameter: '{name}'." },
  missing_required_parameter: {
    status: 400,
    type: 'invalid_request_error',
    text: "Missing required parameter: '{name}'.",
  },
  invalid_type: {
    status: 400,
    type: 'invalid_request_error',
    text: "Invalid type for '{name}': expected {expected}, but got {found} instead.",
  },
  invalid_value: {
    status: 400,
    type: 'invalid_request_error',
    text: "Invalid value for '{name}': '{found}'. Supported values are: {expected}.",
  },
  integer_out_of_range: {
    status: 400,
    type: 'invalid_request_error',
    text: "Invalid '{name}': expected a value from {min} to {max}, but got {found} instead.",
  },
  string_above_max_length: {
    status: 400,
    type: 'invalid_request_error',
    text: "Invalid '{name}': string too long. Expected at most {max} characters, but got {found} instead.",
  },
  conflicting_parameters: {
    status: 400,
    type: 'invalid_request_error',
    param: 'size',
    text: "Send either 'size' or 'resolution' and 'aspect_ratio', not both.",
  },
  duplicate_parameter: {
    status: 400,
    type: 'invalid_request_error',
    text: "Duplicate parameter: '{name}'. You provided multiple values for this parameter, whereas only one is allowed.",
  },
  too_many_images: {
    status: 400,
    type: 'invalid_request_error',
    param: 'image',
    text: 'At most {max} reference images are supported, but got {found}.',
  },
  invalid_image_file: {
    status: 400,
    type: 'image_generation_user_error',
    param: 'image',
    text: "Invalid image file for '{name}': expected a PNG, JPEG, GIF or WebP.",
  },
  invalid_json: { status: 400, type: 'invalid_request_error', text: 'The body is not a JSON object: {reason}.' },
  invalid_form: { status: 400, type: 'invalid_request_error', text: 'The body is not a well-formed form: {reason}.' },
  unsupported_content_type: {
    status: 415,
    type: 'invalid_request_error',
    text: "Unsupported content type: '{found}'. This method only accepts '{expected}' requests.",
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    text: 'Maximum content size limit ({max}) exceeded ({found} bytes read).',
  },
  missing_header: { status: 400, type: 'invalid_request_error', text: '{name}: header is required' },
  unsupported_in_version: {
    status: 400,
    type: 'invalid_request_error',
    text: "{name}: is not supported by version '{version}'.",
  },
  unknown_url: { status: 404, type: 'invalid_request_error', text: 'Unknown request URL: {method} {path}.' },
  link_expired: {
    status: 404,
    type: 'invalid_request_error',
    text: 'This link does not exist or is no longer kept: links are temporary.',
  },
  server_error: { status: 500, type: 'server_error', text: 'The simulator failed: {reason}.' },
})
