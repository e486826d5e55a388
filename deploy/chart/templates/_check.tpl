{{/* Rejects values that belong elsewhere or contradict each other. The schema cannot say what to do instead. */}}
{{- define "baton.check" -}}
{{- range $group, $variables := dict
  "database" (list "DATABASE_URL")
  "sealing" (list "BATON_SEALING_KEYS")
  "tokens" (list "BATON_TOKEN_KEYS")
  "temporal" (list "BATON_PAYLOAD_KEYS" "TEMPORAL_API_KEY" "TEMPORAL_TLS_CLIENT_KEY_DATA" "TEMPORAL_CODEC_AUTH")
  "api" (list "OIDC_CLIENT_SECRET" "BATON_CODEC_TOKEN")
  "mail" (list "SMTP_URL")
  "models" (list "OPENAI_API_KEY" "ANTHROPIC_API_KEY" "OPENAI_COMPATIBLE_API_KEY")
}}
{{- range $variables }}
{{- if hasKey $.Values.configuration . }}
{{- fail (printf "configuration.%s is a secret. Put it into the Secret of secrets.%s." . $group) }}
{{- end }}
{{- end }}
{{- end }}
{{- range list "OUTBOUND_PROXY" "OTEL_EXPORTER_OTLP_HEADERS" "OTEL_EXPORTER_OTLP_TRACES_HEADERS" "PGPASSWORD" }}
{{- if hasKey $.Values.configuration . }}
{{- fail (printf "configuration.%s can contain a secret. Set it in pods.extraEnv of the processes that need it, from a Secret." .) }}
{{- end }}
{{- end }}
{{- range $variable, $instead := dict
  "PORT" "It is 3000."
  "HOST" "It is 0.0.0.0."
  "METRICS_PORT" "It is 9464."
  "METRICS_HOST" "It is 0.0.0.0."
  "CHANNEL_IN_API" "The gateways serve the live channel."
  "BATON_BUILD_ID" "Set versions.buildId."
  "BATON_DEPLOYMENT" "Set versions.deployment."
}}
{{- if hasKey $.Values.configuration $variable }}
{{- fail (printf "The chart sets %s. %s" $variable $instead) }}
{{- end }}
{{- end }}
{{- if and .Values.agents.catalogue .Values.configuration.AGENTS_FILE }}
{{- fail "Set either agents.catalogue or configuration.AGENTS_FILE." }}
{{- end }}
{{- $builds := list .Values.versions.buildId }}
{{- range .Values.versions.old }}
{{- if has .buildId $builds }}
{{- fail (printf "versions.old contains %s, which is versions.buildId or already in the list." .buildId) }}
{{- end }}
{{- $builds = append $builds .buildId }}
{{- end }}
{{- if and .Values.versions.old (not .Values.versions.buildId) }}
{{- fail "versions.old needs versions.buildId, the version of this release." }}
{{- end }}
{{- range $builds }}
{{- if and . (gt (len (printf "%s-delivery-worker-%s" (include "baton.fullname" $) .)) 63) }}
{{- fail (printf "The name %s-delivery-worker-%s has more than 63 characters. Shorten the build id or set fullnameOverride." (include "baton.fullname" $) .) }}
{{- end }}
{{- end }}
{{- range list "api" "gateway" "taskWorker" "deliveryWorker" }}
{{- $scaling := (get $.Values .).autoscaling }}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) }}
{{- fail (printf "%s.autoscaling.minReplicas is larger than maxReplicas." .) }}
{{- end }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.parentRefs is missing: the Gateways that serve the route." }}
{{- end }}
{{- if and .Values.externalSecrets.enabled (not .Values.externalSecrets.store.name) }}
{{- fail "externalSecrets.store.name is missing: the name of your SecretStore or ClusterSecretStore." }}
{{- end }}
{{- end -}}
