{{- define "baton.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "baton" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-baton" (.Release.Name | trunc 34 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the pods of a component. Arguments: root, component, and for a worker with a version buildId. */}}
{{- define "baton.selector" -}}
app.kubernetes.io/name: baton
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- with .buildId }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* All labels of an object. Arguments as above. */}}
{{- define "baton.labels" -}}
{{ include "baton.selector" . }}
{{- if not .buildId }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* Name and labels of an object. Arguments as above, and name, the end of its name. */}}
{{- define "baton.metadata" -}}
name: {{ include "baton.fullname" .root }}{{ with .name }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "baton.labels" . | nindent 2 }}
{{- end -}}

{{/* The end of the name of a worker: with its version, since the old one runs beside the new one. Arguments as above. */}}
{{- define "baton.workerName" -}}
{{ .component }}{{ with .buildId }}-{{ . }}{{ end }}
{{- end -}}

{{- define "baton.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "baton.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The image. Arguments: root, and optionally image, which replaces the one of the release. */}}
{{- define "baton.image" -}}
{{- $image := .image | default dict -}}
{{- $repository := $image.repository | default .root.Values.image.repository -}}
{{- $digest := $image.digest -}}
{{- if not .image }}{{ $digest = .root.Values.image.digest }}{{ end -}}
{{- if $digest -}}
{{- printf "%s@%s" $repository $digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Name of the Secret of a group. Arguments: root, group. */}}
{{- define "baton.secretName" -}}
{{- (get .root.Values.secrets .group).existingSecret | default (printf "%s-%s" (include "baton.fullname" .root) .group) -}}
{{- end -}}

{{/* A number as text. Helm reads whole numbers of a file as floating-point numbers and prints large ones as 1e+06. */}}
{{- define "baton.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{- define "baton.host" -}}
{{- (urlParse .Values.configuration.BASE_URL).hostname -}}
{{- end -}}

{{- define "baton.taskQueue" -}}
{{- .Values.configuration.BATON_TASK_QUEUE | default "baton" -}}
{{- end -}}

{{/* The name under which Temporal groups the versions of the workers. */}}
{{- define "baton.deploymentOfVersions" -}}
{{- .Values.versions.deployment | default (include "baton.taskQueue" .) -}}
{{- end -}}
