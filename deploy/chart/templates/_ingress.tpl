{{/* Class and TLS of an Ingress. */}}
{{- define "baton.ingressAddress" }}
{{- with .Values.ingress.className }}
ingressClassName: {{ . }}
{{- end }}
{{- if .Values.ingress.tls.enabled }}
tls:
  - hosts: [{{ include "baton.host" . }}]
    secretName: {{ .Values.ingress.tls.secretName | default (printf "%s-tls" (include "baton.fullname" .)) }}
{{- end }}
{{- end }}

{{/* The address that Traefik limits. Argument: the values of the limits. */}}
{{- define "baton.traefikSource" }}
sourceCriterion:
  ipStrategy: {{ if .ipDepth }}{ depth: {{ .ipDepth }} }{{ else }}{}{{ end }}
{{- end }}
