{{- define "tollgate.selector" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tollgate.labels" -}}
{{ include "tollgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tollgate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "tollgate.gateway" -}}
{{ .Values.gateway | default (.Files.Get "gateway.yaml") }}
{{- end }}

{{- define "tollgate.platform" -}}
# Written by the chart from its values.
server:
  listen: 0.0.0.0:8080
  ops: 0.0.0.0:9464
  drain_wait: {{ .Values.drain.waitSeconds }}s
  drain: {{ .Values.drain.seconds }}s
{{- with .Values.server }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if eq .Values.storage.kind "postgres" }}
storage: "${file:/run/secrets/{{ .Values.storage.postgres.key }}}"
{{- else }}
storage: sqlite:/data/tollgate.db
{{- end }}
{{- if eq .Values.counters.kind "redis" }}
counters: "${file:/run/secrets/{{ .Values.counters.key }}}"
{{- else }}
counters: "memory:"
{{- end }}
{{- end }}
