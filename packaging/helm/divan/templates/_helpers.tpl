{{- define "divan.name" -}}
{{ .Release.Name }}-divan
{{- end }}

{{- define "divan.selector" -}}
app.kubernetes.io/name: divan
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "divan.labels" -}}
{{ include "divan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "divan.secret" -}}
{{- if .Values.administrator.existingSecret -}}
{{ .Values.administrator.existingSecret }}
{{- else -}}
{{ include "divan.name" . }}
{{- end -}}
{{- end }}

{{- define "divan.ports" -}}
- { name: rest, port: 8091 }
- { name: rest-tls, port: 18091 }
- { name: capi, port: 8092 }
- { name: capi-tls, port: 18092 }
- { name: query, port: 8093 }
- { name: query-tls, port: 18093 }
- { name: data, port: 11210 }
- { name: data-tls, port: 11207 }
{{- end }}
